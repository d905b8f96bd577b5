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
	// held has something in it while somebody holds the lock.
	held  chan struct{}
	users int
}

func newFlight() *flight { return &flight{locks: map[reloader.Config]*flightLock{}} }

// lock waits until nobody else holds c and returns the call that gives it back.
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
