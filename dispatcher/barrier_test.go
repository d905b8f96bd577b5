package dispatcher_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// barred is a world and its dispatcher, which has nothing to do.
type barred struct {
	*world
	p *process
}

// asks returns what a barrier of a second says.
func (b barred) asks() (pending, held []string) {
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
	defer cancel()
	return b.p.Barrier(ctx, scenario.DefaultNamespace)
}

// pending fails the test unless a barrier names one thing in flight.
func (b barred) pending(want string) {
	b.t.Helper()
	if pending, _ := b.asks(); len(pending) != 1 || !strings.Contains(pending[0], want) {
		b.t.Errorf("pending: %q, want one with %q", pending, want)
	}
}

// passes fails the test unless a barrier returns at once, with what is held back.
func (b barred) passes(want string) {
	b.t.Helper()
	began := time.Now()
	pending, held := b.asks()
	if took := time.Since(began); len(pending) > 0 || took > 500*time.Millisecond || !strings.Contains(strings.Join(held, "\n"), want) || want == "" && len(held) > 0 {
		b.t.Errorf("pending: %q, held: %q, want %q held at once; it took %s", pending, held, want, took)
	}
}

// TestBarrier: each thing that can be in flight keeps a barrier waiting until it has ended, and nothing that is held back does.
func TestBarrier(t *testing.T) {
	window := scenario.Settings{Window: scenario.Duration(time.Minute), MaxWait: scenario.Duration(time.Minute)}
	lost := errors.New("no connection")
	edit := func(b barred) { b.edit(alice, app, "2") }
	unheard := func(b barred) { b.stream.hold(); edit(b) }
	told := func(b barred) { b.stream.send(b.stream.take()...) }
	annotate := func(b barred, annotations string) {
		b.must(b.patch(alice, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{`+annotations+`}}}`)))
	}
	for name, tc := range map[string]struct {
		settings scenario.Settings
		act      func(b barred)
		pending  string          // empty if it passes at once
		ends     func(b barred)  // nil if it does so by itself
		held     reloader.Reason // after that
		then     func(b barred)  // lets go what is held
		rolls    int64
	}{
		"nothing":                     {act: edit, rolls: 1},
		"an edit that nobody told of": {act: unheard, pending: "the last write of ConfigMap/main/app was not looked at", ends: told, rolls: 1},
		"a debounce window":           {settings: window, act: edit, pending: "waits until ", ends: func(b barred) { b.pass(time.Minute) }, rolls: 1},
		"a request in a freeze, and after it": {
			act: func(b barred) {
				b.p.SetControl(control.Frozen(reloader.Pause{}))
				annotate(b, `"reroll.dev/requested":"now"`)
			},
			held: reloader.ReasonFrozen, then: func(b barred) { b.p.SetControl(control.Control{}) }, rolls: 1,
		},
		"a ledger that is not written": {
			act: func(b barred) { b.ledger.lose(lost, lost); annotate(b, `"reloader.stakater.com/auto":null`) }, pending: "the ledger of the namespace is not written",
			ends: func(b barred) { b.ledger.lose(nil, nil); b.pass(10 * time.Second) },
		},
		"a watch that is late": {
			act: func(b barred) { b.lagging(webRef) }, pending: "Deployment/main/web: the watch has not reported its last write", ends: func(b barred) { b.lagging() },
		},
		"an API server that is away": {
			act: func(b barred) { b.failing(func(string, string) error { return lost }) }, pending: "the API server: no connection", ends: func(b barred) { b.failing(nil) },
		},
		"configs that may not be listed": {act: func(b barred) {
			b.failing(only("list", "ConfigMap/main", apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", lost)))
			unheard(b)
		}, pending: "was not looked at", ends: func(b barred) { b.failing(nil); told(b) }, rolls: 1},
		"a config that a pattern matches": {act: func(b barred) {
			b.deploy("more", `reroll.dev/configmaps: "extra-*"`, "app")
			b.pass(time.Second)
			b.stream.hold()
			b.give("extra-1", "1")
		}, pending: "ConfigMap/main/extra-1, which its pattern matches, was not looked at", ends: told},
	} {
		runWorld(t, name, tc.settings, func(_ *testing.T, w *world) {
			w.usual()
			b := barred{w, w.start()}
			w.pass(time.Second)
			b.passes("")
			tc.act(b)
			if tc.pending != "" {
				b.pending(tc.pending)
				tc.ends(b)
			}
			b.pass(time.Second)
			b.passes(string(tc.held))
			if tc.then != nil {
				tc.then(b)
				b.pass(time.Second)
				b.passes("")
			}
			b.rolled(web, tc.rolls)
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
