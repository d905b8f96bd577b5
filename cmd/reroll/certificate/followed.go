package certificate

import (
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

// followed is a value made from files, and made again when they change. As long as that fails, the last good one stays.
type followed[T any] struct {
	read   func() (T, error)
	logger *slog.Logger

	mu      sync.Mutex
	checked time.Time
	bad     string
	current T
}

// begin reads for the first time.
func (f *followed[T]) begin(read func() (T, error), logger *slog.Logger) (err error) {
	f.read, f.logger, f.checked = read, logger, time.Now()
	f.current, err = read()
	return err
}

// now returns the value.
func (f *followed[T]) now() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.checked) >= fileCheck {
		f.checked = now
		f.refresh()
	}
	return f.current
}

// refresh reads the files again, and tells about an error once.
func (f *followed[T]) refresh() {
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
