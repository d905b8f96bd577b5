package dispatcher_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

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
	carol := reloader.Actor{User: "carol", UserAgent: "kubectl/v1.37", FieldManager: "kubectl-edit"}
	labeller := reloader.Actor{User: "alice", UserAgent: "kubectl/v1.37", FieldManager: "kubectl-label"}
	agent := reloader.Actor{User: "agent", UserAgent: "argocd/v3"}
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
		"one writer twice": {
			"both writes are of one user",
			func(w *world) { w.edit(alice, app, "2"); w.edit(alice, app, "3") },
			map[string]reloader.Basis{"alice": reloader.BasisOnlyWriter},
		},
		"two managers": {
			"bob's field manager wrote the data last",
			func(w *world) { w.edit(alice, app, "2"); w.pass(time.Second); w.edit(bob, app, "3") },
			map[string]reloader.Basis{"alice": reloader.BasisAmbiguous, "bob": reloader.BasisFieldManager},
		},
		"two of one manager": {
			"nothing tells them apart",
			func(w *world) { w.edit(alice, app, "2"); w.pass(time.Second); w.edit(carol, app, "3") },
			map[string]reloader.Basis{"alice": reloader.BasisAmbiguous, "carol": reloader.BasisAmbiguous},
		},
		"manager of the client's name": {
			"the API server names the manager after the client if the request does not",
			func(w *world) {
				w.edit(alice, app, "2")
				w.pass(time.Second)
				h := w.stream.take()
				w.stream.hold()
				w.edit(bob, app, "3")
				last := w.stream.take()
				last[0].Actor = agent
				w.stream.hold()
				for _, h := range append(h, last...) {
					w.stream.put(h)
				}
			},
			map[string]reloader.Basis{"alice": reloader.BasisAmbiguous, "agent": reloader.BasisFieldManager},
		},
		"a label after a lost hint": {
			"the data was written long before her request",
			func(w *world) {
				w.edit(bob, app, "2")
				w.stream.take()
				w.pass(time.Minute)
				w.stream.hold()
				w.must(w.patch(labeller, app, types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`)))
			},
			map[string]reloader.Basis{"alice": reloader.BasisAmbiguous},
		},
		"a key taken away": {
			"managed fields keep no time of that",
			func(w *world) {
				w.must(w.patch(alice, app, types.MergePatchType, []byte(`{"data":{"a":null}}`)))
			},
			map[string]reloader.Basis{"alice": reloader.BasisOnlyWriter},
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
		"a name generated after a lost hint": {
			"who makes another one says nothing of this",
			func(w *world) {
				w.edit(bob, app, "2")
				w.stream.take()
				w.stream.hold()
				w.stream.put(w.generated(alice))
				w.stop()
				w.start() // its sweep finds what nobody tells of
			},
			map[string]reloader.Basis{},
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

// TestLateHint: a hint of a request before the change was verified adds its actor; one of a request after it does not.
func TestLateHint(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usually()
		w.stream.hold()
		w.edit(alice, app, "2")
		w.pass(time.Second)
		w.edit(bob, app, "3")
		hints := w.stream.take()
		w.stream.send(hints[1])
		w.pass(time.Second)
		w.stream.send(hints[0])
		w.pass(time.Second)
		later := hints[0]
		later.Actor.User, later.AuditID, later.Time = "dave", "audit-later", time.Now()
		w.stream.send(later)
		w.must(w.Quiesce(t.Context()))
		change, types := w.store.changesOf(appConfig)
		want := map[string]reloader.Basis{"alice": reloader.BasisAmbiguous, "bob": reloader.BasisFieldManager}
		if d := cmp.Diff(want, bases(change)); d != "" {
			t.Errorf("candidates (-want +got):\n%s", d)
		}
		if types[reloader.ChangeUpdated] != 2 {
			t.Errorf("changes %v, want the change and its correction", types)
		}
		w.rolled(web, 1)
	})
}

// generated is the hint about a ConfigMap of which only the API server knows the name.
func (w *world) generated(by reloader.Actor) reloader.Hint {
	return reloader.Hint{
		Cluster: clusterName, Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: appConfig.Namespace}, Verb: reloader.VerbCreate,
		Source: reloader.SourceAudit, Actor: by, AuditID: "audit-generated", Code: 201, Time: time.Now(), Received: time.Now(),
	}
}
