package webhook

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"
)

// TestFirstClientCertificateToEnd: those count that speak for a cluster.
func TestFirstClientCertificateToEnd(t *testing.T) {
	r := start(t, nil)
	expect := func(want, reason string) {
		t.Helper()
		got := ""
		if first := r.server.ClientCertificate(); first != nil {
			got = strings.TrimSuffix(first.Subject.CommonName, certificateDomain)
		}
		if got != want {
			t.Errorf("that of %q, want %q: %s", got, want, reason)
		}
	}
	post := func(name string, lasting time.Duration) {
		t.Helper()
		cert := r.clientCA.client(name, func(c *x509.Certificate) {
			c.Subject.CommonName, c.NotAfter = name+certificateDomain, time.Now().Add(lasting)
		})
		r.must(r.client(true, cert), r.request(strings.NewReader(body), withoutToken))
	}
	expect("", "nobody has come")
	r.must(r.client(true), r.request(strings.NewReader(body), nil))
	expect("", "a token has no end")
	post("Nobody", time.Minute)
	expect("", "it speaks for no cluster, and whoever has one of the CA can show it")
	post("west", 24*time.Hour)
	expect("west", "it is the only one")
	post("prod", 10*time.Minute)
	expect("prod", "the other one ends later")
}

// ending makes a certificate that differs from those with another end.
func ending(at time.Time) *x509.Certificate {
	return &x509.Certificate{Raw: []byte(at.String()), NotAfter: at}
}

func TestClientCertificatesAreForgotten(t *testing.T) {
	begin := time.Now()
	now := &clock{now: begin}
	c := newClients(now.Now)
	soon, later := ending(begin.Add(2*time.Hour)), ending(begin.Add(24*time.Hour))
	c.accept(soon)
	c.accept(later)
	now.advance(clientMemory - time.Minute)
	c.accept(later)
	if c.first() != soon {
		t.Error("the old certificate may still be in use elsewhere")
	}
	now.advance(2 * time.Minute)
	if c.first() != later {
		t.Error("nobody has shown the old one for an hour")
	}
	now.advance(clientMemory)
	if c.first() != nil {
		t.Error("nobody has shown any for an hour")
	}
}

// TestClientCertificatesAreBounded: whoever makes certificates without end takes no memory without end.
func TestClientCertificatesAreBounded(t *testing.T) {
	now := &clock{now: time.Now()}
	c := newClients(now.Now)
	for n := range maxClients + 10 {
		c.accept(ending(now.Now().Add(time.Duration(n) * time.Minute)))
	}
	if len(c.seen) != maxClients {
		t.Errorf("%d are remembered, want %d", len(c.seen), maxClients)
	}
	now.advance(clientMemory + time.Second)
	c.accept(ending(now.Now()))
	if len(c.seen) != 1 {
		t.Errorf("%d are remembered an hour later, want the new one", len(c.seen))
	}
}
