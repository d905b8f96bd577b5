package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// auth is what the server knows its senders by. The file of tokens is read again on use, once a second at most; as long as that fails, the last good
// ones stay.
type auth struct {
	opts   Options
	tokens atomic.Pointer[tokens]
	first  atomic.Pointer[accepted]

	// mu is held by the request that reads the tokens, and guards when that was done last, and the error of it.
	mu      sync.Mutex
	checked time.Time
	bad     string
}

func newAuth(o Options) (*auth, error) {
	a := &auth{opts: o, checked: o.Now()}
	return a, a.readTokens()
}

func (a *auth) readTokens() error {
	if a.opts.TokenFile == "" {
		return nil
	}
	content, err := os.ReadFile(a.opts.TokenFile)
	var read tokens
	if err == nil {
		read, err = parseTokens(content)
	}
	if err != nil {
		return fmt.Errorf("ingest token file %s: %w", a.opts.TokenFile, err)
	}
	a.tokens.Store(&read)
	return nil
}

// refresh reads the tokens again if it is time and no other request does. It logs an error once, until it is another one or gone.
func (a *auth) refresh() {
	if !a.mu.TryLock() {
		return
	}
	defer a.mu.Unlock()
	now := a.opts.Now()
	if now.Sub(a.checked) < fileCheck {
		return
	}
	a.checked = now
	err := a.readTokens()
	if err == nil {
		a.bad = ""
	} else if text := err.Error(); text != a.bad {
		a.bad = text
		a.opts.Logger.Error("the changed file cannot be used, the last good tokens stay", slog.Any("error", err))
	}
}

// tlsConfig returns how to serve TLS, with the certificates as they are at each handshake. Sessions are not resumed: that would skip the check of the
// client's certificate.
func (a *auth) tlsConfig() *tls.Config {
	protocols := []string{"h2", "http/1.1"}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			shown, err := a.opts.Certificate()
			if err != nil {
				return nil, err
			}
			c := &tls.Config{
				MinVersion: tls.VersionTLS12, NextProtos: protocols, Certificates: []tls.Certificate{*shown}, SessionTicketsDisabled: true, Time: a.opts.Now,
			}
			if a.opts.ClientCAs != nil {
				c.ClientCAs, c.ClientAuth = a.opts.ClientCAs(), tls.RequireAndVerifyClientCert
				if a.opts.TokenFile != "" {
					c.ClientAuth = tls.VerifyClientCertIfGiven
				}
			}
			return c, nil
		},
	}
}

// allows reports whether the sender of r speaks for cluster, and whether it is known at all. It reads only the header.
func (a *auth) allows(r *http.Request, cluster string) (allowed, known bool) {
	if a.opts.InsecureHTTP && a.opts.TokenFile == "" {
		return true, true
	}
	a.refresh()
	if a.opts.ClientCAs != nil && r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && a.verify(r.TLS.PeerCertificates) == nil {
		names := certificateClusters(r.TLS.PeerCertificates[0])
		if allowed, known = slices.Contains(names, cluster), true; len(names) > 0 {
			a.accept(r.TLS.PeerCertificates[0])
		}
	}
	if secret, ok := bearer(r); ok && a.opts.TokenFile != "" {
		speaksFor := a.tokens.Load().cluster(secret)
		allowed, known = allowed || speaksFor == cluster, known || speaksFor != ""
	}
	return allowed, known
}

// verify checks a client certificate. The handshake did so too, but connections last: CAs are replaced and certificates expire.
func (a *auth) verify(chain []*x509.Certificate) error {
	intermediates := x509.NewCertPool()
	for _, c := range chain[1:] {
		intermediates.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots: a.opts.ClientCAs(), Intermediates: intermediates, CurrentTime: a.opts.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

// certificateDomain follows the name of a cluster in the names of its client certificate.
const certificateDomain = ".audit.reroll.dev"

// certificateClusters returns the clusters that cert names, each in our domain: other certificates of the same CA have common names of their own,
// and one of them may be that of a cluster by chance.
func certificateClusters(cert *x509.Certificate) []string {
	var out []string
	for _, n := range append([]string{cert.Subject.CommonName}, cert.DNSNames...) {
		cluster, found := strings.CutSuffix(n, certificateDomain)
		if found && reloader.ValidateCluster(cluster) == nil {
			out = append(out, cluster)
		}
	}
	return out
}

// accessKey is the header of Amazon Data Firehose's token; it can send no other.
const accessKey = "X-Amz-Firehose-Access-Key"

// bearer returns the token in r's header.
func bearer(r *http.Request) (string, bool) {
	if secret := r.Header.Get(accessKey); secret != "" {
		return secret, true
	}
	scheme, secret, found := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(secret), found && strings.EqualFold(scheme, "Bearer")
}

// clientMemory is how long a client certificate counts as in use after it was last accepted.
const clientMemory = time.Hour

// accepted is the client certificate in use that ends first. An API server does not report when its own ends: its events just stay away.
type accepted struct {
	certificate *x509.Certificate
	at          time.Time
}

// accept notes a certificate. Of two at the same moment one may get lost until its next request.
func (a *auth) accept(c *x509.Certificate) {
	now := a.opts.Now()
	if first := a.firstToEnd(now); first == nil || !c.NotAfter.After(first.NotAfter) {
		a.first.Store(&accepted{c, now})
	}
}

// firstToEnd returns nil if no certificate was accepted lately.
func (a *auth) firstToEnd(now time.Time) *x509.Certificate {
	if first := a.first.Load(); first != nil && now.Sub(first.at) <= clientMemory {
		return first.certificate
	}
	return nil
}
