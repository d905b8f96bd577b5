// Package watch turns what a watch of configs has seen into hints, where the API server cannot be told to send audit events.
//
// What it promises:
//
//   - Touch never blocks. What waits is bounded by the number of configs: several touches of one config before the first is stored
//     are one hint, which is enough, since a hint only makes us look.
//   - A hint is stored, or tried again until it is or Run's context ends. What was not stored then is found by the next start's sweep.
package watch

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

const (
	// maxBatch bounds the hints that are stored at once.
	maxBatch = 500
	// firstPause and longestPause bound the wait after hints could not be stored.
	firstPause, longestPause = 100 * time.Millisecond, 5 * time.Second
)

// Options configure a Source. All fields are required.
type Options struct {
	Cluster    string
	Sink       ingest.Sink
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Source is the source of hints from a watch. Make it with New.
type Source struct {
	Options
	hints prometheus.Counter
	// wake has room for one: something waits.
	wake chan struct{}

	mu      sync.Mutex
	waiting map[reloader.Config]reloader.Hint
}

// New returns a Source that stores while Run runs.
func New(o Options) *Source {
	s := &Source{Options: o, wake: make(chan struct{}, 1), waiting: map[reloader.Config]reloader.Hint{}}
	s.hints = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "reroll_watch_hints_total", Help: "Hints from the watch of configs that were stored.",
	})
	o.Registerer.MustRegister(s.hints)
	return s
}

// Touch takes note that somebody wrote a config, with the field manager that wrote its data and when, if known.
func (s *Source) Touch(c reloader.Config, verb reloader.Verb, manager string, at time.Time) {
	now := time.Now()
	if at.IsZero() || at.After(now) {
		at = now
	}
	s.mu.Lock()
	s.waiting[c] = reloader.Hint{
		Cluster: s.Cluster, Config: c, Verb: verb, Source: reloader.SourceWatch, Code: 200,
		Actor: reloader.Actor{FieldManager: clip(manager)}, Time: at, Received: now,
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// clip keeps a field manager within the limit of a hint.
func clip(manager string) string {
	return strings.ToValidUTF8(manager[:min(len(manager), reloader.MaxFieldManagerLength)], "")
}

// Run stores what Touch notes until ctx ends.
func (s *Source) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		}
		for batch := s.take(); len(batch) > 0; batch = s.take() {
			if !s.store(ctx, batch) {
				return nil
			}
		}
	}
}

// take returns some of the hints that wait.
func (s *Source) take() []reloader.Hint {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch := make([]reloader.Hint, 0, min(len(s.waiting), maxBatch))
	for c, h := range s.waiting {
		if len(batch) == maxBatch {
			break
		}
		batch = append(batch, h)
		delete(s.waiting, c)
	}
	return batch
}

// store reports whether batch was stored before ctx ended.
func (s *Source) store(ctx context.Context, batch []reloader.Hint) bool {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := s.Sink.Put(ctx, batch)
		if err == nil {
			s.hints.Add(float64(len(batch)))
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		s.Logger.Warn("hints of the watch are not stored yet", "hints", len(batch), "error", err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
}
