package certificate

import (
	"crypto/x509"
	"encoding/pem"
	"time"
)

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
	if end.After(m.ca.NotAfter) {
		end = m.ca.NotAfter
	}
	template := newTemplate("reroll audit client", now, end)
	template.DNSNames, template.ExtKeyUsage = []string{name}, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	leaf, key, err := sign(template, m.ca, m.caKey)
	if err != nil {
		return Client{}, err
	}
	encoded, err := encodeKey(key)
	return Client{Certificate: encodeCertificate(leaf.Raw), Key: encoded, CA: encodeCertificate(m.ca.Raw), Until: leaf.NotAfter}, err
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
