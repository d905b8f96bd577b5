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
