package certificate

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// fileCheck is how often files are read at most. That happens on use.
const fileCheck = time.Second

// Files is a certificate and its key in files. Make it with NewFiles.
type Files struct {
	of, cert, key string

	mu      sync.Mutex
	checked time.Time
	current *tls.Certificate
}

// NewFiles reads both files. of is what the certificate is for, in errors.
func NewFiles(of, cert, key string) (*Files, error) {
	f := &Files{of: of, cert: cert, key: key}
	return f, f.read()
}

func (f *Files) read() error {
	f.checked = time.Now()
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return fmt.Errorf("certificate of %s: %w", f.of, err)
	}
	f.current = &pair
	return nil
}

// Get returns the certificate as it is in the files now; the last good one if they cannot be used.
func (f *Files) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.checked) >= fileCheck {
		if err := f.read(); err != nil {
			slog.Error("a changed file cannot be used, the last good one stays", "error", err)
		}
	}
	return f.current, nil
}

// Expiry returns when the certificate ends.
func (f *Files) Expiry() time.Time {
	current, _ := f.Get(nil)
	return current.Leaf.NotAfter
}
