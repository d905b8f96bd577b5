// Package pki makes the keys and certificates of tests. It imports nothing of Kubernetes, so that unit tests may use it.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"time"
)

// KeyPair is a certificate and its private key, each as PEM.
type KeyPair struct {
	CertPEM, KeyPEM []byte
}

// CA is a certificate authority that lives in memory. A cluster has one, and tests make their own for audit receivers and their
// clients.
type CA struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pair        KeyPair
}

// NewCA makes a certificate authority that is valid for a year.
func NewCA(name string) (*CA, error) {
	template := newTemplate(name)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	ca := &CA{certificate: template, key: key}
	if ca.pair, err = ca.signOf(template, key); err != nil {
		return nil, err
	}
	block, _ := pem.Decode(ca.pair.CertPEM)
	if ca.certificate, err = x509.ParseCertificate(block.Bytes); err != nil {
		return nil, fmt.Errorf("read the certificate of %s: %w", name, err)
	}
	return ca, nil
}

// CertPEM returns the authority's own certificate.
func (ca *CA) CertPEM() []byte { return ca.pair.CertPEM }

// KeyPEM returns the authority's private key.
func (ca *CA) KeyPEM() []byte { return ca.pair.KeyPEM }

// ReadCA reads a certificate authority that another process has made.
func ReadCA(certFile, keyFile string) (*CA, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("read a CA: %w", err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("read a CA: its key is of type %T", pair.PrivateKey)
	}
	ca := &CA{certificate: pair.Leaf, key: key}
	ca.pair.CertPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Leaf.Raw})
	ca.pair.KeyPEM, err = encodeKey(key)
	return ca, err
}

// Server issues a certificate for a TLS server with the given host names and IP addresses.
func (ca *CA) Server(name string, hosts ...string) (KeyPair, error) {
	template := newTemplate(name)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	setHosts(template, hosts)
	return ca.sign(template)
}

// Client issues a certificate for a TLS client. Kubernetes takes name for the user and organizations for the groups.
func (ca *CA) Client(name string, organizations ...string) (KeyPair, error) {
	template := newTemplate(name)
	template.Subject.Organization = organizations
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return ca.sign(template)
}

// Issue issues a certificate that change has made a server's or a client's.
func (ca *CA) Issue(name string, change func(*x509.Certificate)) (KeyPair, error) {
	template := newTemplate(name)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	change(template)
	return ca.sign(template)
}

func (ca *CA) sign(template *x509.Certificate) (KeyPair, error) {
	key, err := newKey()
	if err != nil {
		return KeyPair{}, err
	}
	return ca.signOf(template, key)
}

func (ca *CA) signOf(template *x509.Certificate, key *ecdsa.PrivateKey) (KeyPair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, ca.certificate, key.Public(), ca.key)
	if err != nil {
		return KeyPair{}, fmt.Errorf("sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return KeyPair{}, err
	}
	return KeyPair{CertPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), KeyPEM: keyPEM}, nil
}

func newTemplate(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.AddDate(1, 0, 0),
	}
}

func setHosts(template *x509.Certificate, hosts []string) {
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, host)
	}
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a private key: %w", err)
	}
	return key, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// ServiceAccountKeys makes the pair of keys that sign and verify service account tokens, the public one as CertPEM.
func ServiceAccountKeys() (KeyPair, error) {
	key, err := newKey()
	if err != nil {
		return KeyPair{}, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return KeyPair{}, fmt.Errorf("encode the service account key: %w", err)
	}
	private, err := encodeKey(key)
	if err != nil {
		return KeyPair{}, err
	}
	return KeyPair{CertPEM: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), KeyPEM: private}, nil
}
