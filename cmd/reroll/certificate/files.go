package certificate

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"time"
)

// Files is a certificate and its key in files. Make it with NewFiles.
type Files struct {
	followed[*tls.Certificate]
	cert, key string
}

// NewFiles reads both files.
func NewFiles(cert, key string, logger *slog.Logger) (*Files, error) {
	f := &Files{cert: cert, key: key}
	return f, f.begin(f.read, logger)
}

// Get returns the certificate as it is in the files now; the last good one if they cannot be used.
func (f *Files) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return f.now(), nil
}

// Expiry returns when the certificate ends.
func (f *Files) Expiry() time.Time {
	return f.now().Leaf.NotAfter
}

func (f *Files) read() (*tls.Certificate, error) {
	cert, err := readAtMost(f.cert)
	if err != nil {
		return nil, fmt.Errorf("certificate of the admission webhook: %w", err)
	}
	key, err := readAtMost(f.key)
	if err != nil {
		return nil, fmt.Errorf("key of the admission webhook: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("certificate of the admission webhook %s: %w", f.cert, err)
	}
	return &pair, nil
}
