package dispatcher_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
)

// ledger is what survives a dispatcher and says what workloads run with. Each dispatcher opens it for itself.
type ledger struct {
	mu      sync.Mutex
	born    time.Time
	entries map[reloader.WorkloadRef]string
	// version counts the writes to each namespace.
	version map[string]int
	lost    error
}

// openLedger is the ledger as one dispatcher knows it.
type openLedger struct {
	*ledger
	seen map[string]int
}

var _ dispatcher.Ledger = (*openLedger)(nil)

var errMoved = errors.New("the ledger has changed since it was read")

func newLedger() *ledger {
	return &ledger{entries: map[reloader.WorkloadRef]string{}, version: map[string]int{}}
}

func (l *ledger) open() *openLedger { return &openLedger{l, map[string]int{}} }

// wipe loses everything.
func (l *ledger) wipe() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.entries)
	clear(l.version)
	l.born = time.Time{}
}

func (l *openLedger) Load(context.Context) (map[reloader.WorkloadRef]string, time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.born.IsZero() {
		l.born = time.Now().Truncate(time.Second)
	}
	l.seen = maps.Clone(l.version)
	return maps.Clone(l.entries), l.born, l.lost
}

func (l *openLedger) Changed(_ context.Context, namespace string) (map[reloader.WorkloadRef]string, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost != nil || l.seen[namespace] == l.version[namespace] {
		return nil, false, l.lost
	}
	l.seen[namespace] = l.version[namespace]
	found := map[reloader.WorkloadRef]string{}
	for ref, text := range l.entries {
		if ref.Namespace == namespace {
			found[ref] = text
		}
	}
	return found, true, nil
}

func (l *openLedger) Put(_ context.Context, namespace string, changed map[reloader.WorkloadRef]string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost != nil {
		return l.lost
	}
	if l.seen[namespace] != l.version[namespace] {
		return errMoved
	}
	for ref, text := range changed {
		if text == "" {
			delete(l.entries, ref)
		} else {
			l.entries[ref] = text
		}
	}
	l.version[namespace]++
	l.seen[namespace] = l.version[namespace]
	return nil
}

// dryLedger writes nothing, as in a dry run. So a ledger is not born by it.
type dryLedger struct{ *openLedger }

// Load loads.
func (l dryLedger) Load(ctx context.Context) (map[reloader.WorkloadRef]string, time.Time, error) {
	born := l.born
	defer func() { l.born = born }()
	return l.openLedger.Load(ctx)
}

// Put puts nothing.
func (dryLedger) Put(context.Context, string, map[reloader.WorkloadRef]string) error { return nil }
