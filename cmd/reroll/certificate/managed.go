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

	"github.com/reroll-dev/reroll/reloader/queue"
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
	o.Logger = o.Logger.With("certificate", o.Of)
	return &Managed{options: o}
}

// leastTick and longestTick bound the time between two looks at what is stored.
const leastTick, longestTick = time.Second / 2, time.Minute

// Run makes, shares, publishes and renews the certificate until ctx ends, or follows what another process makes.
func (m *Managed) Run(ctx context.Context) error {
	for {
		err := queue.Retry(ctx, m.options.Logger, "a certificate could not be checked, and is checked again", func() error { return m.refresh(ctx) })
		if err != nil {
			return err
		}
		leaf := m.current.Load().server.Leaf
		if !queue.Pause(ctx, max(leastTick, min(longestTick, leaf.NotAfter.Sub(leaf.NotBefore.Add(backdate))/20))) {
			return ctx.Err()
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
		pool.AddCert(current.ca.Leaf)
	}
	return pool
}

// refresh brings everything to where it has to be now: all replicas use what is stored. What is lost or cannot be read is stored again as this one used
// it last. What fails, also because another replica was faster, is tried again.
func (m *Managed) refresh(ctx context.Context) error {
	o := m.options
	data, version, err := o.Store.Load(ctx)
	if err != nil {
		return fmt.Errorf("load it: %w", err)
	}
	found, err := parse(data)
	if o.Follows {
		if err == nil && found.server == nil {
			err = errNone
		}
		if err == nil {
			m.current.Store(&found)
		}
		return err
	}
	lost, last := err != nil, m.current.Load()
	if lost && version != "" {
		o.Logger.Warn("a stored certificate cannot be used, and is stored again", "error", err)
	}
	if lost && last != nil {
		found = *last
	}
	found, changed, err := o.next(found, time.Now())
	if err == nil && (changed || lost) {
		err = m.save(ctx, found, version)
	}
	if err != nil {
		return err
	}
	m.current.Store(&found)
	if o.Publish == nil {
		return nil
	}
	if err := o.Publish(ctx, encodeCertificate(found.ca)); err != nil {
		return fmt.Errorf("let clients trust it: %w", err)
	}
	return nil
}

func (m *Managed) save(ctx context.Context, found material, version string) error {
	encoded, err := found.encode()
	if err != nil {
		return err
	}
	if err := m.options.Store.Save(ctx, encoded, version); err != nil {
		return fmt.Errorf("store it: %w", err)
	}
	m.options.Logger.Info("certificate renewed", "until", found.server.Leaf.NotAfter)
	return nil
}
