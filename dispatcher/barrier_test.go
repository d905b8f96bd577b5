package dispatcher_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// barred is a world and its dispatcher, which has nothing to do.
type barred struct {
	*world
	p *process
}

// outlook returns what a barrier of a second says.
func (b barred) outlook() dispatcher.Outlook {
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
	defer cancel()
	return b.p.Barrier(ctx, scenario.DefaultNamespace)
}

// pending fails the test unless a barrier names one thing in flight.
func (b barred) pending(want string) {
	b.t.Helper()
	if o := b.outlook(); len(o.Pending) != 1 || !strings.Contains(o.Pending[0], want) {
		b.t.Errorf("pending: %q, want one with %q", o.Pending, want)
	}
}

// passes fails the test unless a barrier returns at once, with what is held back.
func (b barred) passes(held string) {
	b.t.Helper()
	began := time.Now()
	o := b.outlook()
	if took := time.Since(began); len(o.Pending) > 0 || took > 500*time.Millisecond || !strings.Contains(strings.Join(o.Held, "\n"), held) || held == "" && len(o.Held) > 0 {
		b.t.Errorf("pending: %q, held: %q, want %q held at once; it took %s", o.Pending, o.Held, held, took)
	}
}

// TestBarrier: each thing that can be in flight keeps a barrier waiting, and nothing that is held back does.
func TestBarrier(t *testing.T) {
	window := scenario.Settings{Window: scenario.Duration(time.Minute), MaxWait: scenario.Duration(time.Minute)}
	lost := errors.New("no connection")
	cases := map[string]struct {
		settings scenario.Settings
		test     func(b barred)
	}{
		"nothing": {test: func(b barred) {
			b.edit(alice, app, "2")
			b.pass(time.Second)
			b.passes("")
			b.rolled(web, 1)
		}},
		"an edit that nobody told of": {test: func(b barred) {
			b.stream.hold()
			b.edit(alice, app, "2")
			b.pending("the last write of ConfigMap/main/app was not looked at")
			b.stream.send(b.stream.take()...)
			b.passes("")
			b.rolled(web, 1)
		}},
		"a debounce window": {settings: window, test: func(b barred) {
			b.edit(alice, app, "2")
			b.pass(time.Second)
			until := time.Now().Add(59 * time.Second).UTC().Format("2006-01-02T15:04:05")
			b.pending("waits until " + until)
			b.pass(time.Minute)
			b.passes("")
			b.rolled(web, 1)
		}},
		"a request in a freeze, and after it": {test: func(b barred) {
			b.p.SetControl(control.Frozen(control.Freeze{}))
			b.must(b.patch(alice, web, scenario.PatchTypes["merge"], []byte(`{"metadata":{"annotations":{"reroll.dev/requested":"now"}}}`)))
			b.passes("Frozen")
			b.p.SetControl(control.Control{})
			b.pass(time.Second)
			b.passes("")
			b.rolled(web, 1)
		}},
		"a ledger that is not written": {test: func(b barred) {
			b.ledger.mu.Lock()
			b.ledger.lost = lost
			b.ledger.mu.Unlock()
			b.must(b.patch(alice, web, scenario.PatchTypes["merge"], []byte(`{"metadata":{"annotations":{"reloader.stakater.com/auto":null}}}`)))
			b.pending("the ledger of the namespace is not written")
			b.ledger.mu.Lock()
			b.ledger.lost = nil
			b.ledger.mu.Unlock()
			b.pass(10 * time.Second)
			b.passes("")
		}},
		"a watch that is late": {test: func(b barred) {
			b.cluster.mu.Lock()
			b.lag = []reloader.WorkloadRef{webRef}
			b.cluster.mu.Unlock()
			b.pending("Deployment/main/web: the watch has not reported its last write")
		}},
		"an API server that is away": {test: func(b barred) {
			b.failing(func(string, string) error { return lost })
			b.pending("the API server: no connection")
		}},
		"configs that may not be listed": {test: func(b barred) {
			b.failing(func(verb, _ string) error {
				if verb == "list" {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", lost)
				}
				return nil
			})
			b.stream.hold()
			b.edit(alice, app, "2")
			b.pending("was not looked at")
		}},
		"a config that a pattern matches": {test: func(b barred) {
			b.deploy("more", `reroll.dev/configmaps: "extra-*"`, "app")
			b.pass(time.Second)
			b.stream.hold()
			b.give("extra-1", "1")
			b.pending("ConfigMap/main/extra-1, which its pattern matches, was not looked at")
			b.stream.send(b.stream.take()...)
			b.pass(time.Second)
			b.passes("")
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, tc.settings, func(t *testing.T, w *world) {
				w.usual()
				b := barred{w, w.start()}
				w.pass(time.Second)
				b.passes("")
				tc.test(b)
			})
		})
	}
}

// TestBarrierBeforeTheStart: a process that has not looked at everything says so.
func TestBarrierBeforeTheStart(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usual()
		w.failing(func(string, string) error { return errors.New("no connection") })
		barred{w, w.launch()}.pending("the first sweep of this process has not ended")
		w.failing(nil)
	})
}
