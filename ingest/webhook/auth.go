package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/reroll-dev/reroll/reloader"
)

// auth is what the server proves itself with and knows its senders by. Its files are read again on use, once a second at most; as long as that
// fails, the last good content stays.
type auth struct {
	opts Options
	// certificate is nil without TLS, and clientCAs if client certificates are not asked for.
	certificate func() (*tls.Certificate, error)
	clientCAs   func() *x509.CertPool
	tokens      atomic.Pointer[tokens]
	first       atomic.Pointer[accepted]

	// files has how to read each file again, and failed is called where one has become bad.
	files  map[string]func() error
	failed func(file string)
	// mu is held by the request that reads them, and guards when that was done last, and the errors of files that are bad.
	mu      sync.Mutex
	checked time.Time
	bad     map[string]string
}

// What the files are called in errors and metrics.
const (
	fileCertificate = "TLS certificate"
	fileClientCA    = "client CA"
	fileTokens      = "token file"
)

// newAuth reads the files of o.
func newAuth(o Options) (*auth, error) {
	a := &auth{opts: o, certificate: o.Certificate, clientCAs: o.ClientCAs, files: map[string]func() error{}, bad: map[string]string{}, checked: o.Now()}
	if o.CertFile != "" {
		pair, err := dynamiccertificates.NewDynamicServingContentFromFiles("ingest", o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("ingest %s %s: %w", fileCertificate, o.CertFile, err)
		}
		a.certificate = func() (*tls.Certificate, error) { return keyPair(pair) }
		if err := a.checkCertificate(); err != nil {
			return nil, fmt.Errorf("ingest %s %s: %w", fileCertificate, o.CertFile, err)
		}
		a.files[fileCertificate] = func() error { return pair.RunOnce(context.Background()) }
	}
	if o.ClientCAFile != "" {
		ca, err := dynamiccertificates.NewDynamicCAContentFromFile("ingest clients", o.ClientCAFile)
		if err != nil {
			return nil, fmt.Errorf("ingest %s %s: %w", fileClientCA, o.ClientCAFile, err)
		}
		a.clientCAs = func() *x509.CertPool {
			options, _ := ca.VerifyOptions()
			return options.Roots
		}
		a.files[fileClientCA] = func() error { return ca.RunOnce(context.Background()) }
	}
	if o.TokenFile != "" {
		if err := a.readTokens(); err != nil {
			return nil, fmt.Errorf("ingest %s %s: %w", fileTokens, o.TokenFile, err)
		}
		a.files[fileTokens] = a.readTokens
	}
	return a, nil
}

func keyPair(from *dynamiccertificates.DynamicCertKeyPairContent) (*tls.Certificate, error) {
	cert, key := from.CurrentCertKeyContent()
	pair, err := tls.X509KeyPair(cert, key)
	return &pair, err
}

// checkCertificate finds what API servers refuse.
func (a *auth) checkCertificate() error {
	pair, err := a.certificate()
	switch {
	case err != nil:
		return err
	case a.opts.Now().After(pair.Leaf.NotAfter):
		return fmt.Errorf("expired at %s", pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	case len(pair.Leaf.DNSNames) == 0 && len(pair.Leaf.IPAddresses) == 0:
		return errors.New("has no subject alternative name, and API servers check nothing else")
	}
	return nil
}

func (a *auth) readTokens() error {
	content, err := os.ReadFile(a.opts.TokenFile)
	if err != nil {
		return err
	}
	read, err := parseTokens(content)
	if err != nil {
		return err
	}
	a.tokens.Store(&read)
	return nil
}

// refresh reads the files again if it is time and no other request does. It reports an error once, until it is another one or gone.
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
	for file, read := range a.files {
		err := read()
		if err == nil {
			delete(a.bad, file)
		} else if text := err.Error(); text != a.bad[file] {
			a.bad[file] = text
			a.failed(file)
			a.opts.Logger.Error("changed file cannot be used, the last good one stays", slog.String("file", file), slog.Any("error", err))
		}
	}
}

// tlsConfig returns how to serve TLS, with the files as they are at each handshake. Sessions are not resumed: that would skip the check of the
// client's certificate.
func (a *auth) tlsConfig() *tls.Config {
	protocols := []string{"h2", "http/1.1"}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			a.refresh()
			shown, err := a.certificate()
			if err != nil {
				return nil, err
			}
			c := &tls.Config{
				MinVersion: tls.VersionTLS12, NextProtos: protocols, Certificates: []tls.Certificate{*shown}, SessionTicketsDisabled: true, Time: a.opts.Now,
			}
			if a.clientCAs != nil {
				c.ClientCAs, c.ClientAuth = a.clientCAs(), tls.RequireAndVerifyClientCert
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
	if a.clientCAs != nil && r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && a.verify(r.TLS.PeerCertificates) == nil {
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
		Roots: a.clientCAs(), Intermediates: intermediates, CurrentTime: a.opts.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
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

// accessKey is the header in which Amazon Data Firehose sends its token; it can send no other.
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
