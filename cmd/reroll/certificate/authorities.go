package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
)

// Authorities are the CAs, in a file in PEM, of which clients must show a certificate. Make them with NewAuthorities.
type Authorities struct {
	followed[*x509.CertPool]
}

// NewAuthorities reads the file.
func NewAuthorities(path string, logger *slog.Logger) (*Authorities, error) {
	a := &Authorities{}
	return a, a.begin(func() (*x509.CertPool, error) {
		content, err := readAtMost(path)
		if err != nil {
			return nil, fmt.Errorf("CA of the clients of the admission webhook: %w", err)
		}
		pool, err := parseAuthorities(content)
		if err != nil {
			return nil, fmt.Errorf("CA of the clients of the admission webhook: %s %w", path, err)
		}
		return pool, nil
	}, logger)
}

// Demand has a server ask for certificates of these authorities, as the file is at each handshake. A connection that was made before an
// authority was taken out of the file, or that outlasts its certificate, is refused its next request and closed: API servers keep
// connections for as long as they are used.
func (a *Authorities) Demand(server *http.Server) {
	base, next := server.TLSConfig, server.Handler
	base.NextProtos = []string{"h2", "http/1.1"}
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c := base.Clone()
		c.GetConfigForClient, c.ClientAuth, c.ClientCAs = nil, tls.RequireAndVerifyClientCert, a.now()
		c.SessionTicketsDisabled = true // a resumed session would skip the look at the certificate
		return c, nil
	}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := a.vouch(r.TLS); err != nil {
			w.Header().Set("Connection", "close")
			http.Error(w, "the client certificate is not believed any more: "+err.Error(), http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

var errShowsNone = errors.New("there is none")

// vouch reports why the client of a connection is not believed now; nil if it is.
func (a *Authorities) vouch(state *tls.ConnectionState) error {
	if state == nil || len(state.PeerCertificates) == 0 {
		return errShowsNone
	}
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: a.now(), Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

// parseAuthorities reads certificates in PEM, one at least. Unlike x509.CertPool it tells what it does not understand.
func parseAuthorities(content []byte) (*x509.CertPool, error) {
	pool, n := x509.NewCertPool(), 0
	for {
		var block *pem.Block
		if block, content = pem.Decode(content); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("holds a %.40q where only certificates belong", block.Type)
		}
		ca, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("has certificate %d that cannot be read: %w", n+1, err)
		}
		pool.AddCert(ca)
		n++
	}
	if n == 0 {
		return nil, errors.New("holds no certificate")
	}
	return pool, nil
}
