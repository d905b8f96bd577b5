package dispatcher_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// What others do to workloads: roll them back, roll them themselves, watch us for a while.

// copyOf returns web as it is.
func (w *world) copyOf() *appsv1.Deployment {
	w.t.Helper()
	obj, ok := w.read(web)
	if !ok {
		w.t.Fatal("web is gone")
	}
	return obj.DeepCopyObject().(*appsv1.Deployment)
}

// undo rolls web back to the template of an earlier copy.
func (w *world) undo(to *appsv1.Deployment) {
	w.t.Helper()
	w.must(w.cluster.undo(bob, web, &to.Spec.Template))
}

// TestRollbackOfAll: after a bad edit, first the Deployment is rolled back, and then the config. The pods that started in between have
// the bad content.
func TestRollbackOfAll(t *testing.T) {
	for _, strategy := range []string{"env-vars", "annotations"} {
		runWorld(t, strategy, scenario.Settings{Strategy: strategy}, func(t *testing.T, w *world) {
			w.usually()
			w.edit(alice, app, "good")
			w.pass(quiet)
			good := w.copyOf()
			w.edit(alice, app, "bad")
			w.pass(quiet)
			w.undo(good)
			w.rolls(3)
			w.edited("good", 4)
		})
	}
}

// TestRollbackAndRestart: what was rolled back has started with the present content, so that a start of ours finds nothing to do.
func TestRollbackAndRestart(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usually()
		w.edit(alice, app, "2")
		w.pass(quiet)
		older := w.copyOf()
		w.edit(alice, app, "3")
		w.pass(quiet)
		w.undo(older)
		w.pass(quiet)
		for range 3 {
			w.successor()
			w.rolled(web, 3)
		}
		w.edited("4", 4)
	})
}

// TestAfterADryRun: what a dry run has only watched is done by who comes after it, and what another tool did meanwhile is not done again. A dry run keeps
// no ledger, so if there was none before, the live content is where the first start begins.
func TestAfterADryRun(t *testing.T) {
	for name, c := range map[string]struct {
		installed, stakater bool
		want                int64
	}{
		"nobody rolled": {true, false, 1},
		"nobody rolled, before there was a ledger": {false, false, 0},
		"another did": {false, true, 1},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.usual()
			if c.installed {
				w.settled()
				w.stop()
			}
			w.configure = func(o *dispatcher.Options) { o.DryRun = true }
			w.settled()
			w.edit(alice, app, "2")
			if c.stakater {
				w.markAsStakater("a=2")
			}
			w.pass(quiet)
			if !c.stakater {
				w.rolled(web, 0)
			}
			w.stop()
			w.configure = nil
			w.settled()
			w.rolled(web, c.want)
			w.successor()
			w.rolled(web, c.want)
		})
	}
}

// TestWebhookIsNotCalledForRollbacks: where others roll, what the workload carries is their business.
func TestWebhookIsNotCalledForRollbacks(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		hook := &calls{}
		w.usually()
		w.edit(alice, app, "2")
		w.pass(quiet)
		older := w.copyOf()
		w.edit(alice, app, "3")
		w.pass(quiet)
		w.stop()
		w.configure = func(o *dispatcher.Options) { o.Webhook = hook }
		w.undo(older)
		for range 3 {
			w.settled()
			w.stop()
		}
		if n := len(hook.made()); n != 0 {
			t.Errorf("%d calls without a change", n)
		}
	})
}

// markAsStakater writes the mark that Stakater Reloader makes of entries, as it does.
func (w *world) markAsStakater(entries string) {
	w.t.Helper()
	body := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":%q,"value":%q}]}]}}}}`, appVariable, scenario.StakaterHash(entries))
	w.must(w.patch(reloader.Actor{User: "reloader", FieldManager: "Reloader"}, web, types.StrategicMergePatchType, body))
}
