package cli

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
)

const (
	// auditDomain follows the name of a cluster in the name of its client certificate.
	auditDomain = ".audit.reroll.dev"
	// maxAuthorities bounds the certificates of a CA that are read: one that is being replaced has two.
	maxAuthorities = 16
	// maxCommonName is how long a common name may be; the DNS name counts as well.
	maxCommonName = 64
	// maxKeyFile bounds a private key, in bytes: the time to check one grows faster than its length.
	maxKeyFile = 16 << 10
	// backdate allows for clocks that are behind.
	backdate = 5 * time.Minute
)

// authority is a CA that signs, and what it signs with.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	// trusted are all its certificates in PEM: those of before may still be in use.
	trusted []byte
}

// parseAuthority reads the certificates of a CA and its key, both PEM. Of several certificates the one signs that has the key. No error
// quotes what was read.
func parseAuthority(certificates, key []byte, now time.Time) (a authority, err error) {
	if a.key, err = parseKey(key); err != nil {
		return a, err
	}
	all, err := certificate.ParsePEM(certificates, maxAuthorities)
	if err != nil {
		return a, err
	}
	var trusted bytes.Buffer
	for _, c := range all {
		_ = pem.Encode(&trusted, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // to memory
		if public, ok := a.key.Public().(interface{ Equal(crypto.PublicKey) bool }); ok && public.Equal(c.PublicKey) {
			a.certificate = c
		}
	}
	a.trusted = trusted.Bytes()
	switch c := a.certificate; {
	case c == nil:
		return a, errors.New("the key belongs to none of the certificates")
	case !c.IsCA || c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageCertSign == 0:
		return a, errors.New("the certificate is not that of a CA: it may sign no others")
	case now.Before(c.NotBefore) || now.After(c.NotAfter):
		return a, fmt.Errorf("the CA is valid from %s to %s only", exactly(c.NotBefore), exactly(c.NotAfter))
	}
	return a, nil
}

// parseKey reads the first private key in PEM, in any of the usual forms.
func parseKey(content []byte) (crypto.Signer, error) {
	if len(content) > maxKeyFile {
		return nil, fmt.Errorf("the private key is longer than %d bytes", maxKeyFile)
	}
	for {
		var block *pem.Block
		if block, content = pem.Decode(content); block == nil {
			return nil, errors.New("there is no private key in PEM")
		}
		var key any
		var err error
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "ENCRYPTED PRIVATE KEY":
			return nil, errors.New("the private key is encrypted: give it in clear")
		default:
			continue
		}
		if signer, ok := key.(crypto.Signer); ok && err == nil {
			return signer, nil
		}
		return nil, errors.New("the private key cannot be read")
	}
}

// issued is a certificate with its key, in PEM.
type issued struct {
	certificate, key []byte
	until            time.Time
}

// issueClient makes the certificate with which an API server posts the audit events of a cluster. It does not outlast the CA, and is one that
// the CA vouches for.
func (a authority) issueClient(cluster string, lifetime time.Duration, now time.Time) (i issued, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return i, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return i, fmt.Errorf("make a serial number: %w", err)
	}
	name := cluster + auditDomain
	common := name
	if len(common) > maxCommonName {
		common = "reroll"
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: common, Organization: []string{"reroll"}}, DNSNames: []string{name},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(lifetime), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if template.NotAfter.After(a.certificate.NotAfter) {
		template.NotAfter = a.certificate.NotAfter
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return i, fmt.Errorf("sign the certificate: %w", err)
	}
	if err := a.vouch(der, now); err != nil {
		return i, fmt.Errorf("the CA may not sign client certificates for %s: %w", name, err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return i, fmt.Errorf("encode the key: %w", err)
	}
	return issued{
		certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:         pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
		until:       template.NotAfter,
	}, nil
}

// vouch returns why the ingest would refuse a certificate: a CA may be limited in what it signs.
func (a authority) vouch(der []byte, now time.Time) error {
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.certificate)
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err
}
