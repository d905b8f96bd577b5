package certificate

import (
	"crypto/x509"
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
