package dispatcher_test

import (
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// Creations of configs that nobody names.

// patterned is a workload with a pattern beside a config that matches it.
func (w *world) patterned(pattern string) {
	w.t.Helper()
	w.give("part-1", "1")
	w.give("app", "1")
	w.deploy("web", pattern, "app")
	w.pass(time.Minute)
}

const anyPart = `configmap.reloader.stakater.com/reload: "part-.*"`

// TestMadeWhileDown: what only a pattern matches, and was made while nobody ran, is a creation if it is proved that it was not there before.
func TestMadeWhileDown(t *testing.T) {
	made := func(w *world) { w.give("part-2", "1") }
	tests := map[string]struct {
		reason   string
		onCreate bool
		down     func(w *world)
		want     int64
	}{
		"creations roll":                {"it was not there when all were looked for", true, made, 1},
		"they do not":                   {"nobody asked for it", false, made, 0},
		"the pattern is a newer one":    {"nobody knows that it was not asked for when it was made", true, func(w *world) { made(w); w.pass(time.Minute); w.annotate("part-.") }, 1},
		"all is lost":                   {"a first start rolls nothing", true, func(w *world) { made(w); w.forget(); w.ledger.wipe() }, 0},
		"another of its name took over": {"its pods have started with it", true, func(w *world) { made(w); w.must(w.delete(alice, web)); w.deploy("web", anyPart, "app") }, 0},
		"the hint is lost":              {"nobody needs it", true, func(w *world) { made(w); w.stream.forget() }, 1},
	}
	for name, test := range tests {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.configure = absences(test.onCreate, false)
			w.patterned(anyPart)
			w.settled()
			w.stop()
			w.pass(time.Minute)
			test.down(w)
			w.pass(time.Minute)
			for range 2 {
				w.settled()
				if g := w.revision(web); g != test.want+1 {
					t.Fatalf("%d template changes, want %d: %s", g-1, test.want, test.reason)
				}
				w.stop()
			}
			w.start()
			w.edit(alice, "ConfigMap/part-1", "2")
			w.rolls(test.want + 1)
		})
	}
}

// annotate gives web another pattern.
func (w *world) annotate(pattern string) {
	w.t.Helper()
	w.must(w.patch(alice, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{"configmap.reloader.stakater.com/reload":"`+pattern+`"}}}`)))
}

// TestMadeWithAGeneratedName: the audit event tells no name, so that all that a pattern could match are looked for.
func TestMadeWithAGeneratedName(t *testing.T) {
	for onCreate, want := range map[bool]int64{true: 1, false: 0} {
		inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
			w.configure = absences(onCreate, false)
			w.patterned(anyPart)
			w.settled()
			put := w.cluster.audit
			w.cluster.audit = func(h reloader.Hint) {
				h.Config.Name, h.Code = "", http.StatusCreated
				put(h)
			}
			w.give("part-x7k2p", "1")
			w.cluster.audit = put
			w.pass(5 * time.Second)
			w.rolled(web, want)
			w.edit(alice, "ConfigMap/part-x7k2p", "2")
			w.rolls(want + 1)
		})
	}
}

// TestMadeAndPendingAtTheEnd: a creation whose window is open when the process ends is rolled by the next, once.
func TestMadeAndPendingAtTheEnd(t *testing.T) {
	settings := scenario.Settings{Strategy: "annotations", Window: scenario.Duration(5 * time.Minute), MaxWait: scenario.Duration(5 * time.Minute)}
	for name, restart := range map[string]time.Duration{"soon after the start": time.Second, "in its window": 2 * time.Minute} {
		runWorld(t, name, settings, func(t *testing.T, w *world) {
			w.configure = func(o *dispatcher.Options) { o.ReloadOnCreate, o.SweepInterval = true, 10*time.Minute }
			w.patterned(anyPart)
			w.settled()
			w.stop()
			w.give("part-2", "1")
			w.pass(time.Minute)
			w.start()
			w.pass(restart)
			w.stop()
			w.rolled(web, 0)
			w.pass(time.Minute)
			w.start()
			w.pass(time.Hour)
			w.rolled(web, 1)
		})
	}
}
