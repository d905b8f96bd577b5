package dispatcher_test

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// Workloads that are deleted and made anew under the same name.

// TestWorkloadReplaced: a workload that was deleted and created again under the dispatcher's hands is not patched for its predecessor.
func TestWorkloadReplaced(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usually()
		w.stall()
		w.edit(alice, app, "2")
		w.must(w.delete(alice, web))
		w.pass(10 * time.Second)
		w.deploy("web", auto, "app")
		w.pass(quiet)
		w.catchUp()
		w.rolls(0)
		w.edited("3", 1)
	})
}

// replacing has the next patch of web find it gone, and replace make another one before the answer is heard.
func (w *world) replacing(replace func()) {
	w.failing(func(verb, _ string) error {
		if verb != "patch" {
			return nil
		}
		w.failing(nil)
		w.must(w.delete(alice, web))
		replace()
		return apierrors.NewNotFound(schema.GroupResource{Resource: "deployments"}, "web")
	})
}

// TestReplacedBeforeTheAnswer: that the predecessor is gone does not make the dispatcher forget the successor that it has seen by then.
func TestReplacedBeforeTheAnswer(t *testing.T) {
	inWorld(t, scenario.Settings{Window: scenario.Duration(5 * time.Second)}, func(t *testing.T, w *world) {
		w.usually()
		w.replacing(func() { w.deploy("web", auto, "app") })
		w.edited("2", 0)
		w.edited("3", 1)
	})
}

// TestReplacedBeforeItsPauseEnds: the successor was made of a copy that was taken during the pause.
func TestReplacedBeforeItsPauseEnds(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		pausingWorld(t, w)
		w.replacing(func() {
			w.deploy("web", pausing, "app")
			since := time.Now().UTC().Format(time.RFC3339)
			w.must(w.patch(alice, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+pausedAt+`":"`+since+`"}},"spec":{"paused":true}}`)))
		})
		w.pass(15 * time.Minute)
		w.wantPaused(true, true)
		w.pass(6 * time.Minute)
		w.wantPaused(false, false)
	})
}
