package webhook

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// files is a value made from the content of files. It is made anew, on use, after the content has changed; as long as that
// fails, the last value stays. It needs no goroutine and does not care how files are replaced.
type files[T any] struct {
	what   string
	paths  []string
	limit  int64
	parse  func(contents [][]byte) (T, error)
	every  time.Duration
	now    func() time.Time
	failed func(what string, err error)

	value atomic.Pointer[T]

	// mu is held by the one who reads the files, and guards what follows. Nobody waits for it: whoever comes meanwhile takes the last value.
	mu      sync.Mutex
	checked time.Time
	sum     [sha256.Size]byte
	bad     string
}

// load reads the files for the first time.
func (f *files[T]) load() error {
	contents, err := f.read()
	if err != nil {
		return fmt.Errorf("ingest %s: %w", f.what, err)
	}
	value, err := f.parse(contents)
	if err != nil {
		return fmt.Errorf("ingest %s %s: %w", f.what, f.paths[0], err)
	}
	f.value.Store(&value)
	f.sum, f.checked = sum(contents), f.now()
	return nil
}

// get returns the value.
func (f *files[T]) get() T {
	f.check()
	return *f.value.Load()
}

// check reads the files again if it is time and nobody else does.
func (f *files[T]) check() {
	if !f.mu.TryLock() {
		return
	}
	defer f.mu.Unlock()
	if now := f.now(); now.Sub(f.checked) >= f.every {
		f.checked = now
		f.report(f.refresh())
	}
}

func (f *files[T]) refresh() error {
	contents, err := f.read()
	if err != nil {
		return err
	}
	found := sum(contents)
	if found == f.sum {
		return nil
	}
	value, err := f.parse(contents)
	if err != nil {
		return err
	}
	f.value.Store(&value)
	f.sum = found
	return nil
}

// report tells about an error once, until it is another one or gone.
func (f *files[T]) report(err error) {
	if err == nil {
		f.bad = ""
		return
	}
	if text := err.Error(); text != f.bad {
		f.bad = text
		f.failed(f.what, err)
	}
}

func (f *files[T]) read() ([][]byte, error) {
	var contents [][]byte
	for _, path := range f.paths {
		content, err := readAtMost(path, f.limit)
		if err != nil {
			return nil, err
		}
		contents = append(contents, content)
	}
	return contents, nil
}

func readAtMost(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return content, nil
}

func sum(contents [][]byte) [sha256.Size]byte {
	var all bytes.Buffer
	for _, c := range contents {
		part := sha256.Sum256(c)
		all.Write(part[:])
	}
	return sha256.Sum256(all.Bytes())
}
