package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/dispatcher/notify"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/workload"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// What marks, times and hints prove, and what they only seem to.

// TestKeyRotatedWhilePending: a change whose window is open when the key is rotated is not lost, although no hint tells of it any more.
func TestKeyRotatedWhilePending(t *testing.T) {
	settings := scenario.Settings{Window: scenario.Duration(time.Hour), MaxWait: scenario.Duration(time.Hour)}
	inWorld(t, settings, func(t *testing.T, w *world) {
		w.usual()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(time.Minute)
		w.rolled(web, 0)
		w.must(w.patch(bob, web, types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`)))
		w.pass(time.Minute)
		w.stop()

		w.keys = []digest.Key{key(2), key(1)}
		w.start()
		w.pass(time.Second)
		w.must(w.patch(bob, app, types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`)))
		w.pass(2 * time.Hour)
		w.rolled(web, 1)
	})
}

// TestDeletionWithoutCreation: where only deletions roll, a creation with the content of before rolls nothing, whatever the strategy.
func TestDeletionWithoutCreation(t *testing.T) {
	for _, strategy := range []string{"env-vars", "annotations"} {
		t.Run(strategy, func(t *testing.T) {
			inWorld(t, scenario.Settings{Strategy: strategy}, func(t *testing.T, w *world) {
				w.configure = absences(false, true)
				w.usual()
				w.start()
				w.pass(quiet)
				w.edit(alice, app, "2")
				w.pass(quiet)
				w.must(w.delete(alice, app))
				w.pass(quiet)
				w.rolled(web, 2)
				w.give("app", "2")
				w.pass(quiet)
				w.rolled(web, 2)
			})
		})
	}
}

// TestDeletionInASharedPlace: the mark in the place of a deleted config is that of another, and stays; the roll is marked elsewhere.
func TestDeletionInASharedPlace(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.configure = absences(false, true)
		w.twoConfigs("a.b", "a-b")
		w.start()
		w.pass(quiet)
		w.edit(alice, "ConfigMap/a.b", "2")
		w.pass(quiet)
		w.rolled(web, 1)
		w.must(w.delete(alice, "ConfigMap/a.b"))
		w.pass(quiet)
		if got := w.outcomes(webRef); got["Reloaded"] == 2 {
			w.rolled(web, 2) // what is on record as a roll is one
		}
	})
}

// TestFarRollbackThenBack: the template of long ago is brought back, then other things of the workload are written, then the content of
// that time. The pods that started in between have the content of now.
func TestFarRollbackThenBack(t *testing.T) {
	settings := scenario.Settings{Strategy: "annotations", Window: scenario.Duration(5 * time.Second), MaxWait: scenario.Duration(time.Minute)}
	inWorld(t, settings, func(t *testing.T, w *world) {
		w.usual()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "good")
		w.pass(quiet)
		good := w.copyOf()
		for i := range 9 {
			w.edit(alice, app, fmt.Sprintf("bad %d", i))
			w.pass(quiet)
		}
		w.undo(good)
		w.disown(web)
		w.pass(quiet)
		w.rolled(web, 11)
		w.edit(alice, app, "good")
		w.pass(2 * time.Second)
		w.must(w.patch(bob, web, types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`)))
		w.pass(quiet)
		w.rolled(web, 12)
	})
}

// disown takes the fields of the manager of marks from a workload, as the API server does when others have written all of them.
func (w *world) disown(ref scenario.Ref) {
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	obj := w.objects[ref].DeepCopyObject().(scenario.Typed)
	entries := obj.GetManagedFields()
	kept := entries[:0]
	for _, e := range entries {
		if e.Manager != workload.MarkManager {
			kept = append(kept, e)
		}
	}
	obj.SetManagedFields(kept)
	obj.SetResourceVersion(w.next())
	w.objects[ref] = obj
	w.tell(ref)
}

// rewrote makes the managed fields of a config say that its data was written now: the API server keeps one time for all that a
// manager writes, and moves it with each of its writes, be it of a label.
func (w *world) rewrote(ref scenario.Ref) {
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	now := metav1.Now().Rfc3339Copy()
	fields := w.objects[ref].GetManagedFields()
	for i := range fields {
		fields[i].Time = &now
	}
	w.objects[ref].SetManagedFields(fields)
}

// TestRollbackLabelAndRestart: what was rolled back has started with the present content, also if that got a label since.
func TestRollbackLabelAndRestart(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usual()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(quiet)
		older := w.copyOf()
		w.edit(alice, app, "3")
		w.pass(quiet)
		w.undo(older)
		w.pass(quiet)
		w.must(w.patch(alice, app, types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`)))
		w.rewrote(app)
		w.pass(quiet)
		w.stop()
		w.start()
		w.pass(quiet)
		w.rolled(web, 3)
	})
}

// TestBackWhileMarkedByAnother: another tool rolled a workload that is held back here, and then the content is back. The pods have the
// content of between.
func TestBackWhileMarkedByAnother(t *testing.T) {
	settings := scenario.Settings{Window: scenario.Duration(10 * time.Minute), MaxWait: scenario.Duration(10 * time.Minute)}
	inWorld(t, settings, func(t *testing.T, w *world) {
		w.usual()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(time.Second)
		w.markAsStakater("a=2")
		w.pass(time.Minute)
		w.edit(alice, app, "1")
		w.pass(time.Hour)
		w.rolled(web, 2)
	})
}

// TestCallsOfTwoDispatchers: an old leader that does not know it has been replaced, and the new one, call with the same key.
func TestCallsOfTwoDispatchers(t *testing.T) {
	inWorld(t, scenario.Settings{Window: scenario.Duration(time.Second)}, func(t *testing.T, w *world) {
		hook := &calls{}
		w.configure = func(o *dispatcher.Options) { o.Webhook = hook }
		w.usual()
		w.start()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(quiet)
		keys := map[string]bool{}
		for _, r := range hook.made() {
			keys[notify.PayloadOf(r).IdempotencyKey] = true
		}
		if len(keys) != 1 {
			t.Errorf("calls with keys %v, want one key", keys)
		}
	})
}
