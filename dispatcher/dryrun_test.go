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

// markAsStakater writes the mark that Stakater Reloader makes of entries, as it does.
func (w *world) markAsStakater(entries string) {
	w.t.Helper()
	body := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":%q,"value":%q}]}]}}}}`, appVariable, scenario.StakaterHash(entries))
	w.must(w.patch(reloader.Actor{User: "reloader", FieldManager: "Reloader"}, web, types.StrategicMergePatchType, body))
}
