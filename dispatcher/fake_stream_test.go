package dispatcher_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
)

// stream keeps hints and lends each to every consumer until one of them acknowledges it.
type stream struct {
	mu sync.Mutex
	// last is the last hint about each config that came from the audit feed.
	last      map[reloader.Config]reloader.Hint
	open      []*loan
	consumers []func(dispatcher.Delivery)
	// held keeps hints out of the stream: they are in back, for the test to send or not.
	held bool
	back []reloader.Hint
}

// loan is a hint that is not acknowledged yet.
type loan struct {
	stream *stream
	hint   reloader.Hint
}

// Hint returns the hint.
func (l *loan) Hint() reloader.Hint { return l.hint }

// Ack ends the loan.
func (l *loan) Ack() {
	l.stream.mu.Lock()
	defer l.stream.mu.Unlock()
	l.stream.open = slices.DeleteFunc(l.stream.open, func(o *loan) bool { return o == l })
}

// put takes a hint from the audit feed.
func (s *stream) put(h reloader.Hint) {
	s.mu.Lock()
	s.last[h.Config] = h
	held := s.held
	if held {
		s.back = append(s.back, h)
	}
	s.mu.Unlock()
	if !held {
		s.send(h)
	}
}

// send puts hints into the stream as they are.
func (s *stream) send(hints ...reloader.Hint) {
	for _, h := range hints {
		l := &loan{stream: s, hint: h}
		s.mu.Lock()
		s.open = append(s.open, l)
		consumers := slices.Clone(s.consumers)
		s.mu.Unlock()
		for _, c := range consumers {
			c(l)
		}
	}
}

// hold keeps hints back from now on.
func (s *stream) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
}

// take ends hold and returns what was kept back; what the test does not send is lost.
func (s *stream) take() []reloader.Hint {
	s.mu.Lock()
	defer s.mu.Unlock()
	back := s.back
	s.held, s.back = false, nil
	return back
}

// connect lends a consumer everything that is open, and all that comes.
func (s *stream) connect(consumer func(dispatcher.Delivery)) {
	s.mu.Lock()
	s.consumers = append(s.consumers, consumer)
	open := slices.Clone(s.open)
	s.mu.Unlock()
	for _, l := range open {
		consumer(l)
	}
}

func (s *stream) unacknowledged() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// ledger is what survives a dispatcher and says what workloads run with. Each dispatcher opens it for itself.
type ledger struct {
	mu      sync.Mutex
	born    time.Time
	entries map[reloader.WorkloadRef]string
	// version counts the writes to each namespace.
	version map[string]int
	// lost is why it cannot be read, and full why it cannot be written.
	lost, full error
}

// openLedger is the ledger as one dispatcher knows it.
type openLedger struct {
	*ledger
	seen map[string]int
}

var _ dispatcher.Ledger = (*openLedger)(nil)

var errMoved = errors.New("the ledger has changed since it was read")

// lose makes reads and writes fail from now on; nil ends that.
func (l *ledger) lose(reads, writes error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost, l.full = reads, writes
}

func (l *ledger) open() *openLedger { return &openLedger{l, map[string]int{}} }

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
	if l.full != nil {
		return l.full
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
