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

// TestSweepTriesAConfigAgain: a config that could not be read does not wait for the next round, whether versions can be listed or not. What will
// not be answered otherwise is not asked for time and again.
func TestSweepTriesAConfigAgain(t *testing.T) {
	configMaps := schema.GroupResource{Resource: "configmaps"}
	for name, test := range map[string]struct {
		err   error
		most  int
		rolls int64
	}{
		"connection lost": {errLost, 20, 1},
		"may not be read": {apierrors.NewForbidden(configMaps, "app", errLost), 1, 0},
	} {
		for _, listed := range []bool{true, false} {
			runWorld(t, fmt.Sprintf("%s, listed %v", name, listed), scenario.Settings{}, func(t *testing.T, w *world) {
				w.sweeping()
				w.usual()
				w.start()
				refused := func(verb, _ string) error {
					if verb == "list" && !listed {
						return apierrors.NewForbidden(configMaps, "", errLost)
					}
					return nil
				}
				w.failing(refused)
				w.pass(61 * time.Minute)
				w.deaf()
				w.edit(alice, app, "2")
				w.counted("meta")
				w.failing(func(verb, ref string) error {
					if verb == "meta" {
						return test.err
					}
					return refused(verb, ref)
				})
				w.passUntilRead()
				w.pass(4 * time.Minute)
				if n := w.counted("meta"); n > test.most {
					t.Errorf("%d reads that failed, want at most %d", n, test.most)
				}
				w.rolled(web, 0)
				w.failing(refused)
				w.pass(time.Minute + time.Second)
				w.rolled(web, test.rolls)
				w.pass(2 * time.Hour)
				w.rolled(web, 1)
			})
		}
	}
}

// passUntilRead lets time go by until a sweep has tried to read something.
func (w *world) passUntilRead() {
	w.t.Helper()
	for range 120 {
		w.pass(time.Minute)
		w.cluster.mu.Lock()
		n := w.requests["meta"]
		w.cluster.mu.Unlock()
		if n > 0 {
			return
		}
	}
	w.t.Fatal("no sweep has read anything")
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
