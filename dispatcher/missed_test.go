package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// set gives one key of the ConfigMap app a value.
func (w *world) set(by reloader.Actor, key, value string) {
	w.t.Helper()
	w.must(w.patch(by, app, types.MergePatchType, fmt.Appendf(nil, `{"data":{%q:%q}}`, key, value)))
}

// blamed returns who is named for which keys by each cause of a reload, in order.
func blamed(r reloader.Reload) (found []string) {
	for _, c := range r.Causes {
		line := ""
		for _, k := range c.Keys {
			line += k.Key + " "
		}
		for _, who := range c.Candidates {
			line += who.Actor.User + " " + string(who.Basis)
		}
		found = append(found, line)
	}
	return found
}

// TestCausesOutliveARestart: of what was pending when a process ended, the next one tells the newest change, and nothing besides. The others are in the history.
func TestCausesOutliveARestart(t *testing.T) {
	const byAlice, byBob = "k1 alice OnlyWriter", "k2 bob OnlyWriter"
	both := func(w *world) {
		w.set(alice, "k1", "x")
		w.pass(5 * time.Minute)
		w.set(bob, "k2", "x")
		w.pass(5 * time.Minute)
	}
	tests := map[string]struct {
		reason string
		before func(w *world)
		act    func(w *world)
		want   []string
	}{
		"two changes": {
			"the newest is told", nil, both, []string{byBob},
		},
		"another process between": {
			"the newest of three is told", nil,
			func(w *world) {
				w.set(alice, "k1", "x")
				w.pass(time.Minute)
				w.stop()
				w.start()
				w.set(bob, "k2", "x")
				w.pass(time.Minute)
				w.stop()
				w.start()
				w.set(alice, "k1", "y")
				w.pass(time.Minute)
			},
			[]string{byAlice},
		},
	}
	for name, test := range tests {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			p := w.usually()
			if test.before != nil {
				test.before(w)
			}
			rolled := len(w.store.reloadsOf(webRef))
			w.control = control.Frozen(control.Freeze{})
			p.SetControl(w.control)
			test.act(w)
			w.stop()
			p = w.start()
			w.pass(time.Minute)
			p.SetControl(control.Control{})
			w.must(w.Quiesce(t.Context()))
			reloads := w.store.reloadsOf(webRef)[rolled:]
			if len(reloads) != 1 || reloads[0].Outcome != reloader.ReasonReloaded {
				t.Fatalf("reloads: %+v", reloads)
			}
			if d := cmp.Diff(test.want, blamed(reloads[0])); d != "" {
				t.Errorf("causes (-want +got), because %s:\n%s", test.reason, d)
			}
		})
	}
}
