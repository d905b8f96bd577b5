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

// TestDeposedLeaderBeginsNothing: from when the leadership is lost, no patch is sent and nothing is recorded, and it has ended before its lease has.
func TestDeposedLeaderBeginsNothing(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
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
	})
}

// TestEndFinishesWhatHasBegun: a process that is asked to end records what it has begun, and begins nothing.
func TestEndFinishesWhatHasBegun(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
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
	})
}
