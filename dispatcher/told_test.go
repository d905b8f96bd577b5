package dispatcher_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// seen is what a watch tells of a write: no user, and no request.
func seen(manager string, verb reloader.Verb) reloader.Hint {
	return reloader.Hint{
		Cluster: clusterName, Config: appConfig, Verb: verb, Source: reloader.SourceWatch, Code: 200,
		Actor: reloader.Actor{FieldManager: manager}, Time: time.Now(), Received: time.Now(),
	}
}

// TestSeveralSources: one write that several sources tell of is the doing of one.
func TestSeveralSources(t *testing.T) {
	onlyAlice := map[string]reloader.Basis{"alice": reloader.BasisOnlyWriter}
	tests := map[string]struct {
		reason string
		// send makes up the order in which the hint of alice's write comes among others.
		send func(w *world, reported reloader.Hint)
		want map[string]reloader.Basis
	}{
		"a watch first": {
			"who it was is told after the change was found",
			func(w *world, reported reloader.Hint) {
				w.stream.send(seen(alice.FieldManager, reloader.VerbUpdate))
				w.pass(time.Second)
				w.stream.send(reported)
			}, onlyAlice,
		},
		"a watch last": {
			"the watch knows nothing that is not known already",
			func(w *world, reported reloader.Hint) {
				w.stream.send(reported)
				w.stream.send(seen(alice.FieldManager, reloader.VerbUpdate))
			}, onlyAlice,
		},
		"a watch that knows no manager": {
			"of a deletion nobody tells the manager",
			func(w *world, reported reloader.Hint) {
				w.stream.send(seen("", reloader.VerbDelete), reported)
			}, onlyAlice,
		},
		"a watch of another manager's write": {
			"an audit event may have been lost",
			func(w *world, reported reloader.Hint) {
				w.stream.send(reported, seen("argocd", reloader.VerbUpdate))
			},
			map[string]reloader.Basis{"alice": reloader.BasisFieldManager, "": reloader.BasisAmbiguous},
		},
		"a log, later": {
			"it is the same request",
			func(w *world, reported reloader.Hint) {
				w.stream.send(reported)
				w.pass(time.Second)
				reported.Source, reported.Received = reloader.SourceShipped, time.Now()
				w.stream.send(reported)
			}, onlyAlice,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.usual()
				w.start()
				w.pass(quiet)
				w.stream.hold()
				w.edit(alice, app, "2")
				test.send(w, w.stream.take()[0])
				w.must(w.Quiesce(t.Context()))
				change, _ := w.store.changesOf(appConfig)
				if d := cmp.Diff(test.want, bases(change)); d != "" {
					t.Errorf("candidates (-want +got), because %s:\n%s", test.reason, d)
				}
				w.rolled(web, 1)
			})
		})
	}
}

// TestLateEcho: what another source tells again of alice's write is not held against the change that bob has made since, whether it comes
// with bob's hint, before it, or after it.
func TestLateEcho(t *testing.T) {
	for name, send := range map[string]func(w *world, echo, bobs reloader.Hint){
		"together": func(w *world, echo, bobs reloader.Hint) { w.stream.send(echo, bobs) },
		"before":   func(w *world, echo, bobs reloader.Hint) { w.stream.send(echo); w.pass(quiet); w.stream.send(bobs) },
		"after":    func(w *world, echo, bobs reloader.Hint) { w.stream.send(bobs); w.pass(quiet); w.stream.send(echo) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.usual()
				w.start()
				w.pass(quiet)
				echo := w.editUnheard(alice, "2")
				w.stream.send(echo)
				w.pass(time.Second)
				bobs := w.editUnheard(bob, "3")
				echo.Source, echo.Received = reloader.SourceShipped, time.Now()
				send(w, echo, bobs)
				w.must(w.Quiesce(t.Context()))
				change := w.expectCandidates(map[string]reloader.Basis{"bob": reloader.BasisOnlyWriter})
				if !change.RequestedAt.Equal(bobs.Time) {
					t.Errorf("the change is dated %s, want %s", change.RequestedAt, bobs.Time)
				}
				w.rolled(web, 2)
			})
		})
	}
}

// TestUnknownOutcomeIsNoEcho: a request that timed out may be carried out after the look that it has led to.
func TestUnknownOutcomeIsNoEcho(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usual()
		w.start()
		w.pass(quiet)
		hint := w.editUnheard(alice, "1") // nothing new yet
		hint.Code = 504
		w.stream.send(hint)
		w.pass(time.Second)
		w.stream.hold()
		w.edit(alice, app, "2")
		w.stream.take()
		w.stream.send(hint)
		w.must(w.Quiesce(t.Context()))
		w.expectCandidates(map[string]reloader.Basis{"alice": reloader.BasisOnlyWriter})
	})
}
