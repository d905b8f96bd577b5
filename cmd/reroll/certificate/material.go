package certificate

import (
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

// The keys under which a Store has what is managed: the CA with its key, and the server certificate with its key, all in PEM.
const (
	keyCA     = "ca.crt"
	keyCAKey  = "ca.key"
	keyServer = "tls.crt"
	keyKey    = "tls.key"
)

const (
	// backdate is how long before it is made a certificate begins, as clocks differ.
	backdate = time.Hour
	// caLifetime is how long a CA is valid: the certificates that it signs are in files of control planes.
	caLifetime = 10 * 365 * 24 * time.Hour
)

// material is what is managed. Each has its leaf; nil if it is missing.
type material struct{ ca, server *tls.Certificate }

// next returns what m has to become at a time, and whether that is anything else: with a new CA if there is none or its end is near, and with a new
// server certificate if that of m is not good.
func (o Options) next(m material, now time.Time) (_ material, changed bool, err error) {
	if m.ca == nil || now.After(m.ca.Leaf.NotAfter.Add(-o.Lifetime)) {
		template := newTemplate("reroll "+o.Of+" CA", now, now.Add(caLifetime))
		template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
		template.KeyUsage |= x509.KeyUsageCertSign
		if m.ca, err = sign(template, nil); err != nil {
			return m, false, err
		}
	}
	if o.good(m, now) {
		return m, false, nil
	}
	template := newTemplate("reroll "+o.Of, now, now.Add(o.Lifetime))
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range o.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, host)
	}
	m.server, err = sign(template, m.ca)
	return m, true, err
}

// good reports whether the CA of m has signed its server certificate, for all hosts, and a third of its time is left.
func (o Options) good(m material, now time.Time) bool {
	if m.server == nil || now.After(m.server.Leaf.NotAfter.Add(-o.Lifetime/3)) || m.server.Leaf.CheckSignatureFrom(m.ca.Leaf) != nil {
		return false
	}
	return !slices.ContainsFunc(o.Hosts, func(host string) bool { return m.server.Leaf.VerifyHostname(host) != nil })
}

func newTemplate(name string, now, end time.Time) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // never fails
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name, SerialNumber: serial.Text(36)}, NotBefore: now.Add(-backdate), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// sign makes a key and a certificate for it, self-signed without a CA.
func sign(template *x509.Certificate, ca *tls.Certificate) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	made := &tls.Certificate{PrivateKey: key, Leaf: template}
	if ca == nil {
		ca = made
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.Leaf, key.Public(), ca.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	made.Certificate = [][]byte{der}
	made.Leaf, err = x509.ParseCertificate(der)
	return made, err
}

// encode is for a Store.
func (m material) encode() (map[string][]byte, error) {
	ca, caKey, errCA := encodePair(m.ca)
	server, key, err := encodePair(m.server)
	return map[string][]byte{keyCA: ca, keyCAKey: caKey, keyServer: server, keyKey: key}, errors.Join(errCA, err)
}

// encodePair returns a certificate and its key in PEM.
func encodePair(c *tls.Certificate) (certificate, key []byte, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return nil, nil, fmt.Errorf("encode a key: %w", err)
	}
	return encodeCertificate(c), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func encodeCertificate(c *tls.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Leaf.Raw})
}

// parse reads what encode has written. A server certificate that is missing or of no use is made again.
func parse(data map[string][]byte) (m material, err error) {
	ca, err := tls.X509KeyPair(data[keyCA], data[keyCAKey])
	if err != nil {
		return m, fmt.Errorf("the CA and its key: %w", err)
	}
	if !ca.Leaf.IsCA {
		return m, errors.New("the certificate is not that of a CA")
	}
	m.ca = &ca
	if server, err := tls.X509KeyPair(data[keyServer], data[keyKey]); err == nil {
		m.server = &server
	}
	return m, nil
}

// Client is a client certificate with its key, and the CA that has signed it, in PEM.
type Client struct {
	Certificate, Key, CA []byte
	Until                time.Time
}

// IssueClient signs a client certificate for a DNS name with the CA that a Store has. It does not outlast the CA. No error quotes what was read.
func IssueClient(stored map[string][]byte, name string, lifetime time.Duration, now time.Time) (Client, error) {
	m, err := parse(stored)
	if err != nil {
		return Client{}, err
	}
	end := now.Add(lifetime)
	if end.After(m.ca.Leaf.NotAfter) {
		end = m.ca.Leaf.NotAfter
	}
	template := newTemplate("reroll audit client", now, end)
	template.DNSNames, template.ExtKeyUsage = []string{name}, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	made, err := sign(template, m.ca)
	if err != nil {
		return Client{}, err
	}
	c := Client{CA: encodeCertificate(m.ca), Until: made.Leaf.NotAfter}
	c.Certificate, c.Key, err = encodePair(made)
	return c, err
}
