package webhook

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// security is what the server proves itself with and knows its senders by.
type security struct {
	// open means that anyone who can connect may send.
	open        bool
	certificate func() (*tls.Certificate, error)
	// clientCAs is nil if client certificates are not asked for.
	clientCAs func() *x509.CertPool
	tokens    *files[tokens]
	// clients are the client certificates that were accepted lately.
	clients *clients
	now     func() time.Time
}

// What the files are called in errors and metrics.
const (
	fileCertificate = "TLS certificate"
	fileClientCA    = "client CA"
	fileTokens      = "token file"
)

// newSecurity reads the files of o; failed is told about those that later become bad.
func newSecurity(o Options, failed func(what string, err error)) (*security, error) {
	s := &security{open: o.InsecureHTTP && o.TokenFile == "", clients: newClients(o.Now), now: o.Now, certificate: o.Certificate, clientCAs: o.ClientCAs}
	var load []func() error
	if o.CertFile != "" {
		pair := newFiles(o, fileCertificate, maxPEMFile, s.parseKeyPair, failed, o.CertFile, o.KeyFile)
		s.certificate, load = func() (*tls.Certificate, error) { return pair.get(), nil }, append(load, pair.load)
	}
	if o.ClientCAFile != "" {
		cas := newFiles(o, fileClientCA, maxPEMFile, parseCAs, failed, o.ClientCAFile)
		s.clientCAs, load = cas.get, append(load, cas.load)
	}
	if o.TokenFile != "" {
		parse := func(contents [][]byte) (tokens, error) { return parseTokens(contents[0]) }
		s.tokens = newFiles(o, fileTokens, maxTokenFile, parse, failed, o.TokenFile)
		load = append(load, s.tokens.load)
	}
	for _, first := range load {
		if err := first(); err != nil {
			return s, err
		}
	}
	return s, nil
}

func newFiles[T any](o Options, what string, limit int64, parse func([][]byte) (T, error), failed func(string, error),
	paths ...string,
) *files[T] {
	return &files[T]{
		what: what, paths: paths, limit: limit, parse: parse, every: o.Limits.FileCheck, now: o.Now, failed: failed,
	}
}

// tlsConfig returns how to serve TLS. Each handshake uses the files as they are then. Sessions are not resumed, since that would
// skip the look at the client's certificate.
func (s *security) tlsConfig() *tls.Config {
	protocols := []string{"h2", "http/1.1"}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			shown, err := s.certificate()
			if err != nil {
				return nil, err
			}
			c := &tls.Config{
				MinVersion:             tls.VersionTLS12,
				NextProtos:             protocols,
				Certificates:           []tls.Certificate{*shown},
				SessionTicketsDisabled: true,
				Time:                   s.now,
			}
			if s.clientCAs == nil {
				return c, nil
			}
			c.ClientCAs, c.ClientAuth = s.clientCAs(), tls.RequireAndVerifyClientCert
			if s.tokens != nil {
				c.ClientAuth = tls.VerifyClientCertIfGiven
			}
			return c, nil
		},
	}
}

// parseKeyPair reads a certificate that API servers can accept.
func (s *security) parseKeyPair(contents [][]byte) (*tls.Certificate, error) {
	cert, err := tls.X509KeyPair(contents[0], contents[1])
	switch {
	case err != nil:
		return nil, err
	case s.now().After(cert.Leaf.NotAfter):
		return nil, fmt.Errorf("expired at %s", cert.Leaf.NotAfter.UTC().Format(time.RFC3339))
	case len(cert.Leaf.DNSNames) == 0 && len(cert.Leaf.IPAddresses) == 0:
		return nil, errors.New("has no subject alternative name, and API servers look at nothing else")
	}
	return &cert, nil
}

// parseCAs reads certificates in PEM. Unlike x509.CertPool it tells what it does not understand.
func parseCAs(contents [][]byte) (*x509.CertPool, error) {
	pool, n := x509.NewCertPool(), 0
	for rest := contents[0]; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			if len(bytes.TrimSpace(rest)) > 0 && n == 0 {
				return nil, errors.New("is not PEM")
			}
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("holds a %.40q where only certificates belong", block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", n+1, err)
		}
		if !cert.IsCA {
			return nil, fmt.Errorf("certificate %d (%.80q) is not one of a CA", n+1, cert.Subject.String())
		}
		pool.AddCert(cert)
		n++
	}
	if n == 0 {
		return nil, errors.New("holds no certificate")
	}
	return pool, nil
}
