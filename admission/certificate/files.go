package certificate

import (
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Limits on files and on how often they are read. Reading happens on use.
const (
	maxFile   = 1 << 20
	fileCheck = time.Second
)

// Files is a certificate and its key in files. Make it with NewFiles.
type Files struct {
	cert, key string
	logger    *slog.Logger

	mu      sync.Mutex
	checked time.Time
	bad     string
	current *tls.Certificate
}

// NewFiles reads both files.
func NewFiles(cert, key string, logger *slog.Logger) (*Files, error) {
	f := &Files{cert: cert, key: key, logger: logger, checked: time.Now()}
	var err error
	f.current, err = f.read()
	return f, err
}

// Get returns the certificate as it is in the files now; the last good one if they cannot be used.
func (f *Files) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.checked) >= fileCheck {
		f.checked = now
		f.refresh()
	}
	return f.current, nil
}

// refresh reads the files again, and tells about an error once.
func (f *Files) refresh() {
	read, err := f.read()
	if err == nil {
		f.current, f.bad = read, ""
		return
	}
	if err.Error() != f.bad {
		f.bad = err.Error()
		f.logger.Error("changed file cannot be used, the last good one stays", "error", err)
	}
}

// Expiry returns when the certificate ends.
func (f *Files) Expiry() time.Time {
	current, _ := f.Get(nil)
	return current.Leaf.NotAfter
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

func readAtMost(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("%s is longer than %d bytes", path, maxFile)
	}
	return content, err
}
