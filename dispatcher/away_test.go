package dispatcher_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestAway: what is not there for a while.
func TestAway(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		// The store comes back empty under a running dispatcher, which stores the record of each workload once more, also of those of a kind that is
		// not served now. Nothing rolls by that, nor by the next start.
		"lost records": func(t *testing.T, w *world) {
			w.usually()
			w.edited("2", 1)
			before := handledOf(t, w)
			for _, away := range []string{"", "Deployment"} {
				w.stop()
				w.serve(nil, away)
				p := w.start()
				w.pass(10 * time.Minute)
				w.store.wipe()
				p.StoreAgain()
				w.pass(quiet)
				if got := handledOf(t, w); got != before {
					t.Errorf("with kind %q away the record says that %v is handled, want %v", away, got, before)
				}
				w.rolled(web, 1)
				w.serve(p, "")
			}
			w.pass(10 * time.Minute)
			w.edited("3", 2)
		},
		// From when the leadership is lost, no patch is sent and nothing is recorded, and it has ended before its lease has.
		"deposed leader begins nothing": func(t *testing.T, w *world) {
			p, recorded, count := fanOut(t, w)
			lost := time.Now()
			p.depose()
			ended(t, w, p)
			if took := time.Since(lost); took > 4*time.Second {
				t.Errorf("it ended after %s", took)
			}
			if n := recorded.Load(); n != 0 {
				t.Errorf("%d times something was recorded", n)
			}
			w.failing(nil)
			w.settled()
			if n := count(); n != 40 {
				t.Errorf("%d rolls by the next one, want those of all 40", n)
			}
		},
	})
}

// serve has the API server serve all kinds but one, and tells p of all workloads that there are then.
func (w *world) serve(p *process, away string) {
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	w.away = away
	for ref := range w.objects {
		if p != nil && ref.Workload() {
			p.observe(ref, w.objects[ref])
		}
	}
}

// handledOf returns what the record of web says of its only dependency.
func handledOf(t *testing.T, w *world) reloader.Handled {
	t.Helper()
	r, stored := w.store.recordOf(webRef)
	if !stored || len(r.Edges) != 1 {
		t.Fatalf("the record of the workload is %+v, stored: %t", r, stored)
	}
	return r.Edges[0].Handled
}

// counting counts what is recorded.
type counting struct {
	dispatcher.History
	n *atomic.Int64
}

// PutWorkload counts.
func (c counting) PutWorkload(ctx context.Context, r reloader.WorkloadRecord) error {
	c.n.Add(1)
	return c.History.PutWorkload(ctx, r)
}

// AppendReload counts.
func (c counting) AppendReload(ctx context.Context, r reloader.Reload) error {
	c.n.Add(1)
	return c.History.AppendReload(ctx, r)
}

// fanOut starts a dispatcher that patches two workloads at a time, for a second each, and has many waiting.
func fanOut(t *testing.T, w *world) (p *process, recorded *atomic.Int64, rolls func() int64) {
	t.Helper()
	rolls, recorded = w.fleetOf("other", 40), &atomic.Int64{}
	w.configure = func(o *dispatcher.Options) { o.Workers, o.History = 2, counting{o.History, recorded} }
	p = w.settled()
	w.failing(func(verb, _ string) error {
		if verb == "patch" {
			<-time.After(time.Second)
		}
		return nil
	})
	w.edit(alice, scenario.NewRef("ConfigMap", "other", "app"), "2")
	w.pass(5500 * time.Millisecond)
	if n := w.counted("patch"); n < 4 || n > 14 {
		t.Fatalf("%d patches were sent, want some and not all", n)
	}
	recorded.Store(0)
	return p, recorded, rolls
}

// ended fails the test unless p ends and has begun no patches.
func ended(t *testing.T, w *world, p *process) {
	t.Helper()
	if err := <-p.done; err != nil {
		t.Errorf("it ended with %v", err)
	}
	p.done <- nil // for the end of the world
	if n := w.counted("patch"); n != 0 {
		t.Errorf("%d patches were begun", n)
	}
}
