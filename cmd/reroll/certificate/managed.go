package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// Store keeps what is managed where all replicas see it. Errors are those of the Kubernetes API.
type Store interface {
	// Load returns what is stored, and its version; nothing and no version if nothing is.
	Load(ctx context.Context) (data map[string][]byte, version string, err error)
	// Save stores data in the place of a version. It fails with a conflict if another process was faster.
	Save(ctx context.Context, data map[string][]byte, version string) error
}

// Options say what to manage.
type Options struct {
	Store Store
	// Publish lets clients trust a CA, in PEM, and no other. Publishing the same again changes nothing. It may be nil.
	Publish func(ctx context.Context, ca []byte) error
	// Of is what the certificate is for, as it is called in the log and in the certificate.
	Of string
	// Hosts are the names and addresses of the certificate.
	Hosts []string
	// Lifetime is how long a certificate is valid. It is renewed when a third of that is left.
	Lifetime time.Duration
	// Follows says that another process makes, renews and publishes the certificate, and this one only loads it.
	Follows bool
	Logger  *slog.Logger
}

// Managed is a certificate that is made and renewed here. Make it with NewManaged and let it Run.
type Managed struct {
	options Options
	current atomic.Pointer[material]
}

// NewManaged returns a certificate that is not there before Run has made it.
func NewManaged(o Options) *Managed {
	return &Managed{options: o}
}

// leastTick and longestTick bound the time between two looks at what is stored, and firstTick is that while there is no certificate.
const (
	leastTick   = time.Second / 2
	longestTick = time.Minute
	firstTick   = time.Second
)

func (m *Managed) tick() time.Duration {
	current := m.current.Load()
	if current == nil {
		return firstTick
	}
	leaf := current.server.Leaf
	return max(leastTick, min(longestTick, leaf.NotAfter.Sub(leaf.NotBefore.Add(backdate))/20))
}

// Run makes, shares, publishes and renews the certificate until ctx ends, or follows what another process makes.
func (m *Managed) Run(ctx context.Context) error {
	bad := ""
	for {
		err := m.refresh(ctx)
		switch {
		case err == nil:
			bad = ""
		case ctx.Err() == nil && err.Error() != bad:
			bad = err.Error()
			m.options.Logger.Warn("a certificate could not be checked, and is checked again", "certificate", m.options.Of, "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(m.tick()):
		}
	}
}

var errNone = errors.New("no certificate yet")

// Get returns the certificate of now.
func (m *Managed) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if current := m.current.Load(); current != nil {
		return current.server, nil
	}
	return nil, errNone
}

// Authorities returns the CA that is trusted now: none before there is a certificate.
func (m *Managed) Authorities() *x509.CertPool {
	pool := x509.NewCertPool()
	if current := m.current.Load(); current != nil {
		pool.AddCert(current.ca)
	}
	return pool
}

// refresh brings everything to where it has to be now. What fails, also because another replica was faster, is tried again at the next look.
func (m *Managed) refresh(ctx context.Context) error {
	if m.options.Follows {
		return m.follow(ctx)
	}
	found, err := m.agree(ctx)
	if err != nil {
		return err
	}
	m.current.Store(&found)
	if m.options.Publish == nil {
		return nil
	}
	if err := m.options.Publish(ctx, encodeCertificate(found.ca.Raw)); err != nil {
		return fmt.Errorf("let clients trust it: %w", err)
	}
	return nil
}

func (m *Managed) follow(ctx context.Context) error {
	data, _, err := m.options.Store.Load(ctx)
	if err != nil {
		return fmt.Errorf("load it: %w", err)
	}
	stored, err := parse(data)
	if err == nil && stored.server == nil {
		err = errNone
	}
	if err != nil {
		return err
	}
	m.current.Store(&stored)
	return nil
}

// agree returns what all replicas are to use, and stores it if it is new. What is lost or cannot be read is stored again as this one used it last.
func (m *Managed) agree(ctx context.Context) (material, error) {
	data, version, err := m.options.Store.Load(ctx)
	if err != nil {
		return material{}, fmt.Errorf("load it: %w", err)
	}
	var stored material
	lost := true
	if version != "" {
		if stored, err = parse(data); err != nil {
			m.options.Logger.Warn("a stored certificate cannot be used, and is stored again", "certificate", m.options.Of, "error", err)
		}
		lost = err != nil
	}
	if last := m.current.Load(); lost && last != nil {
		stored = *last
	}
	next, changed, err := m.options.next(stored, time.Now())
	if err != nil || !changed && !lost {
		return next, err
	}
	encoded, err := next.encode()
	if err != nil {
		return material{}, err
	}
	if err := m.options.Store.Save(ctx, encoded, version); err != nil {
		return material{}, fmt.Errorf("store it: %w", err)
	}
	m.options.Logger.Info("certificate renewed", "certificate", m.options.Of, "until", next.server.Leaf.NotAfter)
	return next, nil
}
