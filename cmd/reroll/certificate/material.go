package certificate

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

// The keys under which a Store has what is managed: the authorities that are trusted, the newest first, the key of the newest, and the
// server certificate with its key, all in PEM.
const (
	keyCAs    = "ca.crt"
	keyCAKey  = "ca.key"
	keyServer = "tls.crt"
	keyKey    = "tls.key"
)

const (
	// backdate is how long before it is made a certificate begins, as clocks differ.
	backdate = time.Hour
	// maxCAs bounds the authorities that are trusted at a time.
	maxCAs = 4
	// maxStored bounds what is read of each part.
	maxStored = 64 << 10
)

// material is what is managed.
type material struct {
	cas    []*x509.Certificate
	caKey  *ecdsa.PrivateKey
	server *tls.Certificate
}

// plan says how certificates are made.
type plan struct {
	of                   string
	hosts                []string
	lifetime, caLifetime time.Duration
}

// longestSettling bounds settling.
const longestSettling = 10 * time.Minute

// settling is how long an authority must have been published before it signs: API servers do not hear of it at once.
func (p plan) settling() time.Duration { return min(p.lifetime/10, longestSettling) }

// next returns what m has to become at a time, and whether that is anything else: a new authority next to the old one, a new server
// certificate, or both if nothing that is there is of use.
func (p plan) next(m material, now time.Time) (material, bool, error) {
	kept := slices.DeleteFunc(slices.Clone(m.cas), func(ca *x509.Certificate) bool { return !now.Before(ca.NotAfter) })
	changed := len(kept) != len(m.cas)
	m.cas = kept
	signer := m.signer()
	if m.caKey == nil || len(m.cas) == 0 || now.After(m.cas[0].NotAfter.Add(-2*p.lifetime/3)) {
		ca, key, err := p.authority(now)
		if err != nil {
			return m, false, err
		}
		m.cas, m.caKey, changed = append([]*x509.Certificate{ca}, m.cas...), key, true
		m.cas = m.cas[:min(len(m.cas), maxCAs)]
	}
	settles := signer != m.cas[0] && now.Before(m.cas[0].NotBefore.Add(backdate+p.settling()))
	switch {
	case signer == m.cas[0] && p.good(m.server, now, p.lifetime/3):
		return m, changed, nil
	case signer != nil && settles && p.good(m.server, now, p.settling()):
		return m, changed, nil // who does not know the new authority yet still trusts this one
	}
	server, err := p.issue(m.cas[0], m.caKey, now)
	if err != nil {
		return m, false, err
	}
	m.server = server
	return m, true, nil
}

// signer returns which of the trusted authorities signed the server certificate; nil if none did.
func (m material) signer() *x509.Certificate {
	if m.server == nil {
		return nil
	}
	i := slices.IndexFunc(m.cas, func(ca *x509.Certificate) bool { return m.server.Leaf.CheckSignatureFrom(ca) == nil })
	if i < 0 {
		return nil
	}
	return m.cas[i]
}

// good reports whether a server certificate is for all hosts and has more than some time left.
func (p plan) good(server *tls.Certificate, now time.Time, left time.Duration) bool {
	if server == nil || now.After(server.Leaf.NotAfter.Add(-left)) {
		return false
	}
	return !slices.ContainsFunc(p.hosts, func(host string) bool { return server.Leaf.VerifyHostname(host) != nil })
}

func (p plan) authority(now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	template := newTemplate("reroll "+p.of+" CA", now, now.Add(p.caLifetime))
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	return sign(template, template, nil)
}

// issue makes a server certificate, which does not outlast who signs it.
func (p plan) issue(ca *x509.Certificate, caKey *ecdsa.PrivateKey, now time.Time) (*tls.Certificate, error) {
	end := now.Add(p.lifetime)
	if end.After(ca.NotAfter) {
		end = ca.NotAfter
	}
	template := newTemplate("reroll "+p.of, now, end)
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range p.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, host)
	}
	leaf, key, err := sign(template, ca, caKey)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}, nil
}

func newTemplate(name string, now, end time.Time) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // never fails
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name, SerialNumber: serial.Text(36)}, NotBefore: now.Add(-backdate), NotAfter: end}
}

// sign makes a key and a certificate for it, signed by that key itself if there is no other one.
func sign(template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	if parentKey == nil {
		parentKey = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), crypto.Signer(parentKey))
	if err != nil {
		return nil, nil, fmt.Errorf("sign a certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	return certificate, key, err
}

// bundle returns the trusted authorities in PEM.
func (m material) bundle() []byte {
	var b bytes.Buffer
	for _, ca := range m.cas {
		b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw}))
	}
	return b.Bytes()
}

func (m material) encode() (map[string][]byte, error) {
	caKey, err := encodeKey(m.caKey)
	if err != nil {
		return nil, err
	}
	key, err := encodeKey(m.server.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		return nil, err
	}
	server := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.server.Certificate[0]})
	return map[string][]byte{keyCAs: m.bundle(), keyCAKey: caKey, keyServer: server, keyKey: key}, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// parse reads what encode has written. A server certificate may be missing: it is made again.
func parse(data map[string][]byte) (material, error) {
	for name, part := range data {
		if len(part) > maxStored {
			return material{}, fmt.Errorf("%.40q is longer than %d bytes", name, maxStored)
		}
	}
	var m material
	for rest := data[keyCAs]; len(m.cas) < maxCAs; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		ca, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return material{}, fmt.Errorf("%s: %w", keyCAs, err)
		}
		m.cas = append(m.cas, ca)
	}
	block, _ := pem.Decode(data[keyCAKey])
	if block == nil || len(m.cas) == 0 {
		return material{}, errors.New("there is no certificate authority with its key")
	}
	var err error
	if m.caKey, err = x509.ParseECPrivateKey(block.Bytes); err != nil {
		return material{}, fmt.Errorf("%s: %w", keyCAKey, err)
	}
	if !m.caKey.PublicKey.Equal(m.cas[0].PublicKey) {
		return material{}, fmt.Errorf("%s is not the key of the first certificate of %s", keyCAKey, keyCAs)
	}
	if len(data[keyServer])+len(data[keyKey]) == 0 {
		return m, nil
	}
	server, err := tls.X509KeyPair(data[keyServer], data[keyKey])
	if err != nil {
		return material{}, fmt.Errorf("%s: %w", keyServer, err)
	}
	if _, ok := server.PrivateKey.(*ecdsa.PrivateKey); !ok {
		return material{}, fmt.Errorf("%s is not an elliptic curve key", keyKey)
	}
	m.server = &server
	return m, nil
}
