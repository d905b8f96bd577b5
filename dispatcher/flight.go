package dispatcher

import (
	"sync"

	"github.com/reroll-dev/reroll/reloader"
)

// flight gives each config to one reader at a time.
type flight struct {
	mu    sync.Mutex
	locks map[reloader.Config]*flightLock
}

type flightLock struct {
	// held is full while the lock is held.
	held  chan struct{}
	users int
}

// lock waits for the lock of c and returns the call that releases it.
func (f *flight) lock(c reloader.Config) func() {
	f.mu.Lock()
	l := f.locks[c]
	if l == nil {
		l = &flightLock{held: make(chan struct{}, 1)}
		f.locks[c] = l
	}
	l.users++
	f.mu.Unlock()
	l.held <- struct{}{}
	return func() {
		<-l.held
		f.mu.Lock()
		defer f.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(f.locks, c)
		}
	}
}
