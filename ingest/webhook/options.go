package webhook

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

// Options describe a server.
type Options struct {
	// Address is host:port to listen on.
	Address string
	// Certificate returns that of the server, and is called at each handshake.
	Certificate func() (*tls.Certificate, error)
	// ClientCAs returns the CAs of client certificates, and is called at each handshake and request; nil: none are asked for. A certificate speaks for
	// cluster X if its common name or one of its DNS names is X.audit.reroll.dev.
	ClientCAs func() *x509.CertPool
	// TokenFile holds bearer tokens, one line of cluster:token each. With both a CA and tokens, either suffices.
	TokenFile string
	// InsecureHTTP serves plain HTTP to anyone on this machine. Address must then be a loopback address.
	InsecureHTTP bool
	// Clusters are the only ones whose events are taken; if empty, any that a sender speaks for.
	Clusters []string
	Limits   Limits

	// Sink stores the hints.
	Sink ingest.Sink
	// Logger and Registerer default to none.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Now defaults to time.Now.
	Now func() time.Time
}

// Validate reports the first thing in o, but for the Sink, that would keep a server from starting. It reads the tokens.
func (o Options) Validate() error {
	_, err := newAuth(o.withDefaults())
	return cmp.Or(o.validateValues(), err)
}

func (o Options) validateValues() error {
	if _, _, err := net.SplitHostPort(o.Address); err != nil {
		return fmt.Errorf("ingest address %q is not host:port: %w", o.Address, err)
	}
	for _, c := range o.Clusters {
		if err := reloader.ValidateCluster(c); err != nil {
			return fmt.Errorf("ingest: %w", err)
		}
	}
	return o.validateTransport()
}

// validateTransport allows exactly two ways: TLS with authentication, or plain HTTP that never leaves the machine.
func (o Options) validateTransport() error {
	switch {
	case o.InsecureHTTP && (o.Certificate != nil || o.ClientCAs != nil):
		return errors.New("ingest is given both TLS certificates and insecure HTTP: choose one")
	case o.InsecureHTTP && !IsLoopback(o.Address):
		return fmt.Errorf("ingest over insecure HTTP needs a loopback address such as 127.0.0.1:9443, not %q: use TLS", o.Address)
	case o.InsecureHTTP:
		return nil
	case o.Certificate == nil:
		return errors.New("ingest needs a TLS certificate and its key (or, for development, insecure HTTP on a loopback address)")
	case o.ClientCAs == nil && o.TokenFile == "":
		return errors.New("ingest would take events from anyone: give it a client CA or a token file")
	}
	return nil
}

// IsLoopback reports whether only this machine can reach address, as far as its text tells.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

func (o Options) withDefaults() Options {
	o.Limits = o.Limits.withDefaults()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
