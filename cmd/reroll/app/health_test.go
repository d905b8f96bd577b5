package app

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reroll-dev/reroll/api/ops"
)

func failures(checks []ops.Check) map[string]string {
	found := map[string]string{}
	for _, c := range checks {
		if c.Err != nil {
			found[c.Name] = c.Err.Error()
		}
	}
	return found
}

func TestHealthFollowsItsProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h health
		var broken atomic.Bool
		h.add("steady", func(context.Context) error { return nil })
		h.add("moody", func(context.Context) error {
			if broken.Load() {
				return errBroken
			}
			return nil
		})
		h.add("stuck", func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) })
		if got := failures(h.state()); len(got) != 3 {
			t.Errorf("before the first look all must fail: %v", got)
		}

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- h.run(ctx) }()
		synctest.Wait()
		if got := failures(h.state()); len(got) != 1 || got["stuck"] != errNotProbed.Error() {
			t.Errorf("a stuck probe must not hold up the others: %v", got)
		}
		broken.Store(true)
		<-time.After(probeTime + probeInterval)
		synctest.Wait()
		if got := failures(h.state()); got["moody"] != errBroken.Error() || got["stuck"] != context.DeadlineExceeded.Error() || got["steady"] != "" {
			t.Errorf("after %s: %v", probeTime, got)
		}
		h.add("late", func(context.Context) error { return nil })
		if got := failures(h.state()); got["late"] != errNotProbed.Error() {
			t.Errorf("a part that has just come up must fail until it is looked at: %v", got)
		}
		<-time.After(probeTime + probeInterval)
		synctest.Wait()
		if got := failures(h.state()); got["late"] != "" {
			t.Errorf("a part that came up late is not looked at: %v", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
