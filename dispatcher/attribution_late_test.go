package dispatcher_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestWhoOfAChangeWhileDown: a change that a sweep has found is told of by hints that come, or are looked at, much later. What is on record of
// it then says who may have made it, and so does the reload, which was recorded before.
func TestWhoOfAChangeWhileDown(t *testing.T) {
	tests := map[string]struct {
		reason string
		act    func(w *world)
		want   map[string]reloader.Basis
	}{
		"nobody ran": {
			"the hint waited in the stream",
			func(w *world) {
				w.stop()
				w.edit(alice, app, "2")
				w.pass(time.Minute)
				w.start()
			},
			map[string]reloader.Basis{"alice": reloader.BasisOnlyWriter},
		},
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
		},
		"the hint of who wrote last is lost": {
			"content was written after the only hint",
			func(w *world) {
				w.stop()
				w.edit(alice, app, "2")
				w.pass(time.Minute)
				w.stream.hold()
				w.edit(bob, app, "3")
				w.stream.take()
				w.start()
			},
			map[string]reloader.Basis{"alice": reloader.BasisAmbiguous},
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
		},
		"a name was generated for another": {
			"it is about a config that was made then",
			func(w *world) {
				w.stop()
				w.edit(alice, app, "2")
				h := w.stream.last[appConfig]
				h.Config.Name, h.Verb, h.Actor = "", reloader.VerbCreate, bob
				w.stream.send(h)
				w.pass(time.Minute)
				w.start()
			},
			map[string]reloader.Basis{"alice": reloader.BasisOnlyWriter},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.configure = func(o *dispatcher.Options) { o.SweepInterval = time.Minute }
				w.usual()
				w.start()
				w.pass(quiet)
				test.act(w)
				w.must(w.Quiesce(t.Context()))
				w.rolled(web, 1)
				w.checkWho(test.reason, test.want)
			})
		})
	}
}

// checkWho fails the test unless both the newest change and the only reload name these candidates, and the hint that told of them.
func (w *world) checkWho(reason string, want map[string]reloader.Basis) {
	w.t.Helper()
	change, _ := w.store.changesOf(appConfig)
	if d := cmp.Diff(want, bases(change)); d != "" {
		w.t.Errorf("candidates (-want +got), because %s:\n%s", reason, d)
	}
	if change.Source != reloader.SourceAudit || change.RequestedAt.IsZero() || change.ReceivedAt.IsZero() {
		w.t.Errorf("the change does not say which hint told of it: %+v", change)
	}
	reloads := w.store.reloadsOf(webRef)
	if len(reloads) != 1 || len(reloads[0].Causes) != 1 {
		w.t.Fatalf("reloads: %+v", reloads)
	}
	cause := reloads[0].Causes[0]
	if d := cmp.Diff(change.Candidates, cause.Candidates); d != "" || cause.Source != change.Source || !cause.RequestedAt.Equal(change.RequestedAt) || !cause.ReceivedAt.Equal(change.ReceivedAt) {
		w.t.Errorf("the reload says something else than its change: %+v\n%s", cause, d)
	}
	if n := len(w.store.announced); n != 1 {
		w.t.Errorf("%d reloads were announced, want 1: who did it is no other reload", n)
	}
}
