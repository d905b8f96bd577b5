package dispatcher_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
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
