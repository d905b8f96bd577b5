//go:build unix

package webhook

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestSlowDiskHoldsUpOneRequest: while one request waits for a file that is read again, the others go on with what was in it before.
func TestSlowDiskHoldsUpOneRequest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &files[string]{
		what: "file", paths: []string{path}, limit: 10, now: time.Now,
		parse:  func(contents [][]byte) (string, error) { return string(contents[0]), nil },
		failed: func(_ string, err error) { t.Error(err) },
	}
	if err := f.load(); err != nil {
		t.Fatal(err)
	}
	// A pipe that nobody has written to yet is a disk that does not answer.
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	slow := make(chan string)
	go func() { slow <- f.get() }()
	disk := openPipe(t, path)
	others := make(chan string)
	go func() { others <- f.get() }()
	select {
	case got := <-others:
		if got != "old" {
			t.Errorf("the others have %q", got)
		}
	case <-time.After(time.Minute):
		t.Error("the others wait for the disk, too")
	}
	_, err := disk.WriteString("new")
	if err := errors.Join(err, disk.Close()); err != nil {
		t.Fatal(err)
	}
	if got := <-slow; got != "new" {
		t.Errorf("who waited for the disk has %q", got)
	}
}

// openPipe opens a pipe for writing as soon as somebody reads it.
func openPipe(t *testing.T, path string) *os.File {
	t.Helper()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(time.Minute); ; <-again.C {
		pipe, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		switch {
		case err == nil:
			return pipe
		case !errors.Is(err, syscall.ENXIO) || time.Now().After(end):
			t.Fatal(err)
		}
	}
}
