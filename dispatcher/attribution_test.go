package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// bases returns the candidates of a change by user.
func bases(c reloader.Change) map[string]reloader.Basis {
	found := map[string]reloader.Basis{}
	for _, who := range c.Candidates {
		found[who.Actor.User] = who.Basis
	}
	return found
}

// editUnheard edits app and returns the hint of that, which nobody has got.
func (w *world) editUnheard(by reloader.Actor, value string) reloader.Hint {
	w.t.Helper()
	w.stream.hold()
	w.edit(by, app, value)
	return w.stream.take()[0]
}

// TestWho: who may have made a change, and why we think so.
func TestWho(t *testing.T) {
	tests := map[string]struct {
		reason string
		act    func(w *world)
		want   map[string]reloader.Basis
	}{
		"one writer": {
			"nobody else wrote",
			func(w *world) { w.edit(alice, app, "2") },
			map[string]reloader.Basis{"alice": reloader.BasisOnlyWriter},
		},
		"two managers": {
			"bob's field manager wrote the data last",
			func(w *world) { w.edit(alice, app, "2"); w.pass(time.Second); w.edit(bob, app, "3") },
			map[string]reloader.Basis{"alice": reloader.BasisAmbiguous, "bob": reloader.BasisFieldManager},
		},
		"a name generated while it is made anew": {
			"nobody generates a name that was there before",
			func(w *world) {
				w.must(w.delete(alice, app))
				w.give("app", "2")
				w.stream.put(w.generated(bob))
			},
			map[string]reloader.Basis{"alice": reloader.BasisOnlyWriter},
		},
	}
	for name, test := range tests {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.usually()
			w.stream.hold()
			test.act(w)
			w.stream.send(w.stream.take()...)
			w.must(w.Quiesce(t.Context()))
			change, _ := w.store.changesOf(appConfig)
			if d := cmp.Diff(test.want, bases(change)); d != "" {
				t.Errorf("candidates (-want +got), because %s:\n%s", test.reason, d)
			}
			reloads := w.store.reloadsOf(webRef)
			if len(reloads) != 1 || len(reloads[0].Causes) != 1 || len(reloads[0].Causes[0].Candidates) != len(change.Candidates) {
				t.Errorf("the reload does not carry the candidates of its change: %+v", reloads)
			}
		})
	}
}

// generated is the hint about a ConfigMap of which only the API server knows the name.
func (w *world) generated(by reloader.Actor) reloader.Hint {
	return reloader.Hint{
		Cluster: clusterName, Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: appConfig.Namespace}, Verb: reloader.VerbCreate,
		Source: reloader.SourceAudit, Actor: by, AuditID: "audit-generated", Code: 201, Time: time.Now(), Received: time.Now(),
	}
}

// TestWhoOfAChangeWhileDown: a change that a sweep has found is told of by hints that come, or are looked at, much later. What is on record of
// it then says who may have made it, and so does the reload, which was recorded before.
func TestWhoOfAChangeWhileDown(t *testing.T) {
	tests := map[string]struct {
		reason string
		act    func(w *world)
		want   map[string]reloader.Basis
		before int // changes before it, each with a roll
	}{
		"nobody ran, and two edited": {
			"the first of two cannot be told from no candidate",
			func(w *world) {
				w.stop()
				w.edit(alice, app, "2")
				w.pass(time.Minute)
				w.edit(bob, app, "3")
				w.pass(time.Minute)
				w.start()
			},
			map[string]reloader.Basis{"alice": reloader.BasisAmbiguous, "bob": reloader.BasisFieldManager},
			0,
		},
		"the feed is late": {
			"a sweep was there before",
			func(w *world) {
				w.stream.hold()
				w.edit(alice, app, "2")
				w.pass(3 * time.Minute)
				w.rolled(web, 1)
				w.stream.send(w.stream.take()...)
			},
			map[string]reloader.Basis{"alice": reloader.BasisOnlyWriter},
			0,
		},
		"found by a process that ended before it took a hint": {
			"who comes next knows of the change by the record alone",
			func(w *world) {
				w.stop()
				w.edit(alice, app, "2")
				w.pass(time.Minute)
				w.launch()
				w.pass(time.Minute)
				w.rolled(web, 1)
				w.stop()
				w.start()
			},
			map[string]reloader.Basis{"alice": reloader.BasisOnlyWriter},
			0,
		},
		"a hint about the change before comes again": {
			"that one has led to another content",
			func(w *world) {
				again := w.stream.last[appConfig]
				w.stop()
				w.edit(bob, app, "2")
				w.pass(time.Minute)
				w.stream.send(again)
				w.start()
			},
			map[string]reloader.Basis{"bob": reloader.BasisOnlyWriter},
			0,
		},
	}
	for name, test := range tests {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.configure = func(o *dispatcher.Options) { o.SweepInterval = time.Minute }
			w.usually()
			test.act(w)
			w.must(w.Quiesce(t.Context()))
			w.rolled(web, int64(test.before)+1)
			w.checkWho(test.reason, test.want, test.before)
		})
	}
}

// checkWho fails the test unless both the newest change and its reload, which follows those before, name these candidates, and the hint that told
// of them.
func (w *world) checkWho(reason string, want map[string]reloader.Basis, before int) {
	w.t.Helper()
	change, _ := w.store.changesOf(appConfig)
	if d := cmp.Diff(want, bases(change)); d != "" {
		w.t.Errorf("candidates (-want +got), because %s:\n%s", reason, d)
	}
	if change.Source != reloader.SourceAudit || change.RequestedAt.IsZero() || change.ReceivedAt.IsZero() {
		w.t.Errorf("the change does not say which hint told of it: %+v", change)
	}
	reloads := w.store.reloadsOf(webRef)
	if len(reloads) != before+1 || len(reloads[before].Causes) != 1 {
		w.t.Fatalf("reloads: %+v", reloads)
	}
	cause := reloads[before].Causes[0]
	if d := cmp.Diff(change.Candidates, cause.Candidates); d != "" || cause.Source != change.Source || !cause.RequestedAt.Equal(change.RequestedAt) || !cause.ReceivedAt.Equal(change.ReceivedAt) {
		w.t.Errorf("the reload says something else than its change: %+v\n%s", cause, d)
	}
	if n := len(w.store.announced); n != before+1 {
		w.t.Errorf("%d reloads were announced, want %d: who did it is no other reload", n, before+1)
	}
}

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
