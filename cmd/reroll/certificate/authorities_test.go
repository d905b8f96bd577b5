package certificate

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// clientAuthority is a CA of clients.
type clientAuthority struct {
	t    *testing.T
	ca   *x509.Certificate
	key  *ecdsa.PrivateKey
	text []byte
}

func newClientAuthority(t *testing.T) *clientAuthority {
	t.Helper()
	ca, key, err := plan{lifetime: time.Hour, caLifetime: 2 * time.Hour}.authority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return &clientAuthority{t, ca, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw})}
}

// client returns a certificate for a use that ends at a time.
func (a *clientAuthority) client(use x509.ExtKeyUsage, end time.Time) *tls.Certificate {
	a.t.Helper()
	template := newTemplate("kube-apiserver", time.Now(), end)
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{use}
	leaf, key, err := sign(template, a.ca, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}
}

// guarded is a server that demands certificates of the CAs in a file.
type guarded struct {
	t       *testing.T
	path    string
	cas     *Authorities
	address string
	trusts  *x509.CertPool
}

func startGuarded(t *testing.T, content []byte) *guarded {
	t.Helper()
	g := &guarded{t: t, path: filepath.Join(t.TempDir(), "ca.crt"), trusts: x509.NewCertPool()}
	g.write(content)
	var err error
	if g.cas, err = NewAuthorities(g.path, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	own, _, err := plan{"test", []string{"127.0.0.1"}, time.Hour, 2 * time.Hour}.next(material{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	g.trusts.AddCert(own.cas[0])
	server := &http.Server{
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), ReadHeaderTimeout: time.Minute,
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
		TLSConfig: &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own.server, nil }},
	}
	g.cas.Demand(server)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.address = "https://" + listener.Addr().String()
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	return g
}

// write replaces the file, and lets it be looked at with the next use.
func (g *guarded) write(content []byte) {
	g.t.Helper()
	if err := os.WriteFile(g.path, content, 0o600); err != nil {
		g.t.Fatal(err)
	}
	if g.cas != nil {
		g.cas.mu.Lock()
		g.cas.checked = time.Time{}
		g.cas.mu.Unlock()
	}
}

// client returns a client that shows a certificate, or none, and keeps its connection.
func (g *guarded) client(shown *tls.Certificate, protocols ...string) *http.Client {
	config := &tls.Config{RootCAs: g.trusts, NextProtos: protocols, ClientSessionCache: tls.NewLRUClientSessionCache(4)}
	if shown != nil {
		// Whatever the server asks for: it is the server that has to refuse.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return shown, nil }
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: len(protocols) == 0}
	g.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// ask returns the code of an answer, and 0 if there was none.
func (g *guarded) ask(c *http.Client) int {
	g.t.Helper()
	answer, err := c.Get(g.address)
	if err != nil {
		return 0
	}
	if err := answer.Body.Close(); err != nil {
		g.t.Error(err)
	}
	return answer.StatusCode
}

// TestAuthoritiesAreReplaced: while the server runs, API servers get a certificate of another CA. Both CAs are in the file for a while, and
// nobody is refused; then the old one is taken out, and its certificates are worth nothing, on kept connections as well as on new ones.
func TestAuthoritiesAreReplaced(t *testing.T) {
	for name, protocols := range map[string][]string{"HTTP/2": nil, "HTTP/1.1": {"http/1.1"}} {
		t.Run(name, func(t *testing.T) {
			old, next := newClientAuthority(t), newClientAuthority(t)
			g := startGuarded(t, old.text)
			soon := time.Now().Add(time.Hour)
			before, after := old.client(x509.ExtKeyUsageClientAuth, soon), next.client(x509.ExtKeyUsageClientAuth, soon)
			kept := g.client(before, protocols...)
			expect := func(when string, c *http.Client, want int) {
				t.Helper()
				if code := g.ask(c); code != want {
					t.Errorf("%s: answer %d, want %d", when, code, want)
				}
			}
			expect("of the CA", kept, 204)
			expect("of a CA that is not there yet", g.client(after, protocols...), 0)
			g.write(append(append([]byte{}, old.text...), next.text...))
			expect("of the CA that was added", g.client(after, protocols...), 204)
			expect("of the old CA beside it", g.client(before, protocols...), 204)
			expect("of the old CA beside it, on the kept connection", kept, 204)
			for _, bad := range [][]byte{nil, []byte("no PEM"), make([]byte, maxFile+1)} {
				g.write(bad)
				expect("while the file is of no use", g.client(after, protocols...), 204)
			}
			g.write(next.text)
			expect("of the CA that is gone, on the kept connection", kept, http.StatusUnauthorized)
			expect("of the CA that is gone, after that", kept, 0)
			expect("of the CA that is gone", g.client(before, protocols...), 0)
			expect("of the CA that stays", g.client(after, protocols...), 204)
			expect("without a certificate", g.client(nil, protocols...), 0)
		})
	}
}

// TestAuthoritiesRefuse: a certificate of the right CA for another use, or one that has ended.
func TestAuthoritiesRefuse(t *testing.T) {
	ca := newClientAuthority(t)
	g := startGuarded(t, ca.text)
	for name, shown := range map[string]*tls.Certificate{
		"for servers": ca.client(x509.ExtKeyUsageServerAuth, time.Now().Add(time.Hour)),
		"ended":       ca.client(x509.ExtKeyUsageClientAuth, time.Now().Add(-time.Minute)),
	} {
		if code := g.ask(g.client(shown)); code != 0 {
			t.Errorf("%s: answer %d", name, code)
		}
	}
}

// TestAuthoritiesAtTheStart: a file that cannot be used is said before anything else is done.
func TestAuthoritiesAtTheStart(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"empty": nil, "key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY"}), "broken": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE"}),
		"long": make([]byte, maxFile+1),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := NewAuthorities(path, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s: it was accepted", name)
		}
	}
	if _, err := NewAuthorities(filepath.Join(dir, "missing"), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a file that is not there was accepted")
	}
}

// FuzzAuthorities: a file of somebody else is refused, or there is a CA in it.
func FuzzAuthorities(f *testing.F) {
	ca, _, err := plan{lifetime: time.Hour, caLifetime: 2 * time.Hour}.authority(time.Now())
	if err != nil {
		f.Fatal(err)
	}
	good := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw})
	f.Add(good)
	f.Add(append([]byte("# a comment\n"), good...))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		pool, err := parseAuthorities(content)
		if err == nil && pool.Equal(x509.NewCertPool()) {
			t.Error("it was accepted, and is empty")
		}
	})
}
