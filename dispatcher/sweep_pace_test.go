package dispatcher_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestSweepTriesAScopeAgain: a list that fails once does not have its configs wait for the next round.
func TestSweepTriesAScopeAgain(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.sweeping()
		w.usual()
		w.start()
		w.pass(9 * time.Minute)
		w.deaf()
		w.edit(alice, app, "2")
		w.failing(func(verb, _ string) error {
			if verb == "list" {
				return errLost
			}
			return nil
		})
		w.pass(2 * time.Minute)
		w.rolled(web, 0)
		w.failing(nil)
		w.pass(time.Minute + time.Second)
		w.rolled(web, 1)
	})
}

// timed remembers when the metadata of each config was read.
type timed struct {
	dispatcher.Configs

	mu    sync.Mutex
	reads map[string][]time.Time
}

// Meta reads.
func (r *timed) Meta(ctx context.Context, c reloader.Config) (live.Meta, error) {
	r.mu.Lock()
	r.reads[c.Name] = append(r.reads[c.Name], time.Now())
	r.mu.Unlock()
	return r.Configs.Meta(ctx, c)
}

// TestSweepSpreadsItsReads: where metadata may not be listed, each config is read once in six intervals, and never many at once.
func TestSweepSpreadsItsReads(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		read := &timed{}
		w.configure = func(o *dispatcher.Options) {
			read.Configs, o.Configs, o.SweepInterval = o.Configs, read, 10*time.Minute
		}
		const configs = 60
		for i := range configs {
			name := fmt.Sprint("app-", i)
			w.give(name, "1")
			w.deploy("of-"+name, auto, name)
		}
		w.failing(func(verb, _ string) error {
			if verb == "list" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil)
			}
			return nil
		})
		read.reads = map[string][]time.Time{}
		w.start()
		w.pass(time.Minute)
		w.stream.forget()
		read.mu.Lock()
		clear(read.reads)
		read.mu.Unlock()
		w.pass(2 * time.Hour)
		read.mu.Lock()
		defer read.mu.Unlock()
		at := map[time.Time]int{}
		for i := range configs {
			reads := read.reads[fmt.Sprint("app-", i)]
			if n := len(reads); n < 1 || n > 3 {
				t.Errorf("%d reads of one config in two hours, want one an hour", n)
			}
			for _, r := range reads {
				at[r.Truncate(10*time.Second)]++
			}
		}
		for when, n := range at {
			if n > 3 {
				t.Errorf("%d reads in the ten seconds from %s, want them spread", n, when)
			}
		}
	})
}
