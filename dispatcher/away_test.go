package dispatcher_test

import (
	"context"
	"fmt"
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
		// The record of a workload whose kind is not served when a process starts stays, and with it what is known of the workload: a change that came
		// meanwhile rolls it when the kind is back. The record of one that is gone by then goes.
		"kind away at start": func(t *testing.T, w *world) {
			w.usual()
			w.deploy("gone", auto, "app")
			w.settled()
			w.stop()

			w.serve(nil, "Deployment")
			w.edit(alice, app, "2")
			p := w.start()
			w.pass(10 * time.Minute)
			if _, known := w.store.recordOf(webRef); !known {
				t.Fatal("the record was deleted although nobody could see the workload")
			}
			w.must(w.delete(alice, "Deployment/gone"))
			w.serve(p, "")
			w.pass(10 * time.Minute)
			w.rolled(web, 1)
			gone := webRef
			gone.Name = "gone"
			if _, known := w.store.recordOf(gone); known {
				t.Error("the record of a workload that is gone stays")
			}
		},
		// The changes of a config are needed as long as a workload depends on it, be it one of a kind that is not served now, and not after that.
		"needs": func(t *testing.T, w *world) {
			unused := reloader.Config{Kind: reloader.ConfigMap, Namespace: scenario.DefaultNamespace, Name: "unused"}
			check := func(when string, p *dispatcher.Dispatcher, app, other bool) {
				t.Helper()
				if p.Needs(appConfig) != app || p.Needs(unused) != other {
					t.Errorf("%s: needs the config in use: %t, and the other: %t; want %t and %t", when, p.Needs(appConfig), p.Needs(unused), app, other)
				}
			}
			w.usual()
			w.give("unused", "1")
			p := w.start().Dispatcher
			check("with a workload", p, true, false)

			w.stop()
			w.serve(nil, "Deployment")
			again := w.start()
			p = again.Dispatcher
			w.pass(10 * time.Minute)
			check("while its kind is away", p, true, false)
			w.serve(again, "")
			w.pass(10 * time.Minute)
			w.must(w.delete(alice, "Deployment/web"))
			w.pass(quiet)
			check("when the workload is gone", p, false, false)
		},
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
			p, recorded := fanOut(t, w)
			lost := time.Now()
			p.depose()
			if err := <-p.done; err != nil {
				t.Errorf("it ended with %v", err)
			}
			p.done <- nil // for the end of the world
			if took := time.Since(lost); took > 4*time.Second {
				t.Errorf("it ended after %s", took)
			}
			if n := w.counted("patch"); n != 0 {
				t.Errorf("%d patches were begun", n)
			}
			if n := recorded.Load(); n != 0 {
				t.Errorf("%d times something was recorded", n)
			}
			w.failing(nil)
			w.settled()
			for n := range 40 {
				w.rolled(scenario.NewRef("Deployment", scenario.DefaultNamespace, fmt.Sprint("web-", n)), 1)
			}
		},
		"a process that is asked to end records what it has begun, and begins nothing": func(t *testing.T, w *world) {
			p, recorded := fanOut(t, w)
			p.cancel()
			if err := <-p.done; err != nil {
				t.Errorf("it ended with %v", err)
			}
			p.done <- nil
			if n := w.counted("patch"); n != 0 {
				t.Errorf("%d patches were begun", n)
			}
			if n := recorded.Load(); n < 2 {
				t.Errorf("%d times something was recorded, want the reload and the workload", n)
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
func fanOut(t *testing.T, w *world) (p *process, recorded *atomic.Int64) {
	t.Helper()
	w.give("app", "1")
	for n := range 40 {
		w.must(w.create(alice, object(t, fmt.Sprintf(`
kind: Deployment
metadata: {name: web-%d, annotations: {reroll.dev/auto: "true"}}
spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}`, n))))
	}
	recorded = &atomic.Int64{}
	w.configure = func(o *dispatcher.Options) {
		o.Workers = 2
		o.History = counting{o.History, recorded}
	}
	p = w.settled()
	w.failing(func(verb, _ string) error {
		if verb == "patch" {
			<-time.After(time.Second)
		}
		return nil
	})
	w.edit(alice, app, "2")
	w.pass(5500 * time.Millisecond)
	if n := w.counted("patch"); n < 4 || n > 14 {
		t.Fatalf("%d patches were sent, want some and not all", n)
	}
	recorded.Store(0)
	return p, recorded
}
