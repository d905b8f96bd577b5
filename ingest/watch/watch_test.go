package watch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/ingest/watch"
	"github.com/reroll-dev/reroll/reloader"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink stores hints, or fails.
type sink struct {
	mu     sync.Mutex
	fail   error
	stored []reloader.Hint
	tries  int
}

func (s *sink) Put(_ context.Context, hints []reloader.Hint) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	if s.fail != nil {
		return s.fail
	}
	s.stored = append(s.stored, hints...)
	return nil
}

func (s *sink) failing(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

func (s *sink) hints() []reloader.Hint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]reloader.Hint(nil), s.stored...)
}

var _ ingest.Sink = (*sink)(nil)

func config(i int) reloader.Config {
	return reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: fmt.Sprint("s", i)}
}

// inBubble runs a Source beside test.
func inBubble(t *testing.T, test func(source *watch.Source, to *sink)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		source := watch.New(watch.Options{Cluster: "local", Sink: to, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- source.Run(ctx) }()
		test(source, to)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

func TestTouchBecomesAHint(t *testing.T) {
	inBubble(t, func(source *watch.Source, to *sink) {
		at := time.Now().Add(-time.Second)
		source.Touch(config(1), reloader.VerbUpdate, "kubectl-edit", at)
		synctest.Wait()
		got := to.hints()
		if len(got) != 1 {
			t.Fatalf("%d hints, want one", len(got))
		}
		h := got[0]
		if h.Cluster != "local" || h.Config != config(1) || h.Verb != reloader.VerbUpdate || h.Source != reloader.SourceWatch ||
			h.Actor.FieldManager != "kubectl-edit" || !h.Time.Equal(at) || h.Received.IsZero() || h.OutcomeUnknown() {
			t.Errorf("hint %+v", h)
		}
	})
}

func TestHintsFitTheWire(t *testing.T) {
	inBubble(t, func(source *watch.Source, to *sink) {
		source.Touch(config(1), reloader.VerbCreate, strings.Repeat("m", 1000), time.Now().Add(time.Hour))
		synctest.Wait()
		data, err := reloader.Encode(to.hints()[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reloader.Decode[reloader.Hint](data); err != nil {
			t.Errorf("the hint cannot be read back: %v", err)
		}
	})
}

func TestNothingIsLostWhileTheSinkFails(t *testing.T) {
	inBubble(t, func(source *watch.Source, to *sink) {
		to.failing(errors.New("no room"))
		for range 3 {
			for i := range 1200 {
				source.Touch(config(i), reloader.VerbUpdate, "", time.Time{})
			}
			<-time.After(time.Minute)
		}
		to.failing(nil)
		<-time.After(time.Minute)
		seen := map[reloader.Config]int{}
		for _, h := range to.hints() {
			seen[h.Config]++
		}
		if len(seen) != 1200 {
			t.Errorf("%d configs, want 1200", len(seen))
		}
		for c, n := range seen {
			if n > 2 {
				t.Errorf("%d hints of %s, want what was under way and one more at most", n, c)
			}
		}
		if to.tries > 60 {
			t.Errorf("%d tries in four minutes: no pauses grow", to.tries)
		}
	})
}
