package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/reroll-dev/reroll/tests/pki"
)

// authority is a CA for one test.
type authority struct {
	*pki.CA
	t   testing.TB
	dir string
}

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	ca, err := pki.NewCA(name)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{ca, t, t.TempDir()}
}

func (a *authority) write(name string, content []byte) string {
	a.t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// pair issues a certificate, as a server's or a client's after change.
func (a *authority) pair(name string, change func(*x509.Certificate)) tls.Certificate {
	a.t.Helper()
	issued, err := a.Issue(name, change)
	if err != nil {
		a.t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(issued.CertPEM, issued.KeyPEM)
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

func (a *authority) client(file string, change func(*x509.Certificate)) tls.Certificate {
	a.t.Helper()
	return a.pair(file, func(c *x509.Certificate) {
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		change(c)
	})
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.CertPEM())
	return pool
}

// named makes a certificate for a common name and DNS names.
func named(cn string, dns ...string) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.Subject.CommonName, c.DNSNames = cn, dns }
}

// localhost makes a server's certificate.
func localhost(c *x509.Certificate) {
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
}
