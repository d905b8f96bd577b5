package kube

import (
	"context"
	"errors"
	"strconv"
	"sync"
)

// ErrRewound means that the API server went back to an earlier state, as it does when etcd is restored. It tells nobody: watches that were
// begun before stay silent until versions are again what they were.
var ErrRewound = errors.New("the API server went back to an earlier state, as when etcd is restored: nothing that was watched holds, and the next process looks at everything anew")

// AwaitRewind returns ErrRewound as soon as a canary finds that the API server went back, and nil when ctx ends. Without canaries nobody
// finds it. It is safe for concurrent use.
func (c *Cluster) AwaitRewind(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.tide.turned:
		return ErrRewound
	}
}

// tide is how far the versions have come that one object was given, write by write. Those of different objects may be counted by different
// etcds, and are not compared.
type tide struct {
	mu     sync.Mutex
	newest uint64
	// turned is closed when a later write was given a lower version.
	turned chan struct{}
	once   sync.Once
}

func newTide() *tide { return &tide{turned: make(chan struct{})} }

// now returns the highest version so far; 0 if there was none.
func (t *tide) now() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.newest
}

// note takes the version of a write that began when now returned before. A version that is no number says nothing.
func (t *tide) note(before uint64, version string) {
	v, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return
	}
	t.mu.Lock()
	t.newest = max(t.newest, v)
	t.mu.Unlock()
	if v < before {
		t.once.Do(func() { close(t.turned) })
	}
}
