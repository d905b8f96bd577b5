package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

var errBroken = errors.New("broken")

// TestHouseComesDownInReverse: what came up later is gone before what it needs is told to end, and all that fails is named.
func TestHouseComesDownInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(quiet())
		var order []string
		for _, name := range []string{"store", "worker"} {
			h.start(name, func(ctx context.Context) error {
				<-ctx.Done()
				order = append(order, name)
				return ctx.Err()
			})
		}
		for _, name := range []string{"second", "third"} {
			h.onEnd(name, func(context.Context) error { order = append(order, name); return errBroken })
		}
		synctest.Wait()
		err := h.close()
		if diff := cmp.Diff([]string{"third", "second", "worker", "store"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if !errors.Is(err, errBroken) || err.Error() != "stop third: broken\nstop second: broken" {
			t.Errorf("error %q does not name both parts that failed, and no other", err)
		}
		if err := h.close(); err != nil || len(order) != 4 {
			t.Errorf("a second time ends something again: %v, %v", order, err)
		}
		select {
		case err := <-h.failed:
			t.Errorf("an end that was asked for is a failure: %v", err)
		default:
		}
	})
}

// TestHouseEndsInTime shows that all ends together fit into the time that a pod is given.
func TestHouseEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(quiet())
		var given []string
		end := func(takes time.Duration) func(context.Context) error {
			return func(ctx context.Context) error {
				deadline, _ := ctx.Deadline()
				given = append(given, time.Until(deadline).String())
				select {
				case <-ctx.Done():
				case <-time.After(takes):
				}
				return ctx.Err()
			}
		}
		h.onEnd("store", end(0))
		for _, name := range []string{"a", "b", "c"} {
			h.onEnd(name, end(time.Hour))
		}
		h.onEnd("quick", end(10*time.Second))
		start := time.Now()
		if err := h.close(); err == nil || strings.Count(err.Error(), context.DeadlineExceeded.Error()) != 3 {
			t.Errorf("error %v does not name the three parts that stayed", err)
		}
		if diff := cmp.Diff([]string{"25s", "25s", "15s", "1s", "1s"}, given); diff != "" {
			t.Errorf("time for each part (-want +got):\n%s", diff)
		}
		if took := time.Since(start); took != 51*time.Second {
			t.Errorf("the end took %s", took)
		}
	})
}

func TestHouseFailsWithItsParts(t *testing.T) {
	for name, tc := range map[string]struct {
		ends error
		want string
	}{
		"an error":            {errBroken, "worker ended: broken"},
		"an end without word": {nil, "worker ended: no reason given"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(quiet())
			h.start("worker", func(context.Context) error { return tc.ends })
			if err := h.wait(t.Context()); err == nil || err.Error() != tc.want {
				t.Errorf("error %v, want %s", err, tc.want)
			}
			if err := h.close(); !errors.Is(err, tc.ends) {
				t.Errorf("close: %v", err)
			}
		})
	}
}
