package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reroll-dev/reroll/reloader/queue"
)

// TestPatiently: a start waits for a NATS that is not ready yet, as long as it makes sense.
func TestPatiently(t *testing.T) {
	passing, final := queue.ErrDisconnected, errors.New("wrong password")
	for name, c := range map[string]struct {
		// fail returns what the attempt of that number, from 0, ends with.
		fail  func(n int) error
		want  error
		tries int
		after time.Duration
	}{
		"ready at once":        {func(int) error { return nil }, nil, 1, 0},
		"ready after a while":  {func(n int) error { return []error{passing, passing, passing, nil}[n] }, nil, 4, 700 * time.Millisecond},
		"what does not pass":   {func(int) error { return final }, final, 1, 0},
		"what is final later":  {func(n int) error { return []error{passing, final}[n] }, final, 2, 100 * time.Millisecond},
		"it never gets better": {func(int) error { return passing }, passing, 30, 121300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &program{logger: slog.New(slog.DiscardHandler)}
				tries, began := 0, time.Now()
				err := p.patiently(t.Context(), func(context.Context) error {
					tries++
					return c.fail(tries - 1)
				})
				if !errors.Is(err, c.want) || tries != c.tries || time.Since(began) != c.after {
					t.Errorf("%v after %d tries and %v, want %v after %d and %v", err, tries, time.Since(began), c.want, c.tries, c.after)
				}
			})
		})
	}
}

// TestPatientlyEndsWithItsContext: who is asked to end while waiting does not wait any longer.
func TestPatientlyEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p := &program{logger: slog.New(slog.DiscardHandler)}
		began := time.Now()
		err := p.patiently(ctx, func(context.Context) error { return queue.ErrDisconnected })
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
