package webhook

import (
	"crypto/sha256"
	"crypto/x509"
	"sync"
	"time"
)

const (
	// clientMemory is how long a client certificate counts as in use after it was last accepted.
	clientMemory = time.Hour
	// maxClients bounds the client certificates that are remembered; each is one of the CA, and speaks for a cluster.
	maxClients = 1024
)

// clients are the client certificates in use. An API server does not tell when its own ends: from then on its events just stay away.
type clients struct {
	now func() time.Time

	mu   sync.Mutex
	seen map[[sha256.Size]byte]client
}

// client is a certificate, and when it was last accepted.
type client struct {
	certificate *x509.Certificate
	at          time.Time
}

func newClients(now func() time.Time) *clients {
	return &clients{now: now, seen: map[[sha256.Size]byte]client{}}
}

// accept remembers a certificate.
func (c *clients) accept(certificate *x509.Certificate) {
	key := sha256.Sum256(certificate.Raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.seen[key]; !known && len(c.seen) >= maxClients {
		c.forget()
		if len(c.seen) >= maxClients {
			return
		}
	}
	c.seen[key] = client{certificate, c.now()}
}

// first returns the one that ends first; nil if there is none.
func (c *clients) first() (first *x509.Certificate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget()
	for _, s := range c.seen {
		if first == nil || s.certificate.NotAfter.Before(first.NotAfter) {
			first = s.certificate
		}
	}
	return first
}

// forget drops what is not in use any more.
func (c *clients) forget() {
	for key, s := range c.seen {
		if c.now().Sub(s.at) > clientMemory {
			delete(c.seen, key)
		}
	}
}
