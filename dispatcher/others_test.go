package dispatcher_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/dispatcher/notify"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
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

// TestOthers: what people and other tools do to workloads.
func TestOthers(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		// What was rolled back has started with the present content, so that a start of ours finds nothing to do.
		"rollback and restart": func(_ *testing.T, w *world) {
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
		},
		"where others roll, what the workload carries is their business": func(t *testing.T, w *world) {
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
		},
		"stakater Reloader started a Job for the change that the dry run saw": func(t *testing.T, w *world) {
			w.nightly("")
			w.watched(func() { w.edit(alice, app, "2") })
			if n := w.counted("patch"); n != 0 {
				t.Errorf("%d Jobs were started at the swap, want none", n)
			}
		},
		// The Job was started, the process ended before it could write that on the CronJob, and a label of the config changed before the next began.
		// The Job has the name of the first.
		"one job after a crash": func(t *testing.T, w *world) {
			j := &jobs{}
			w.configure = func(o *dispatcher.Options) { j.Workloads, o.Workloads = o.Workloads, j }
			w.nightly("")
			w.settled()
			w.edit(alice, app, "2")
			w.pass(2 * time.Second)
			w.stop()
			w.must(w.patch(bob, app, types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`)))
			w.settled()
			if names := slices.Compact(slices.Clone(j.names)); len(j.names) < 2 || len(names) != 1 {
				t.Errorf("Jobs named %q were started for one change, want one twice", j.names)
			}
		},
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

// markAsStakater writes the mark that Stakater Reloader makes of entries, as it does.
func (w *world) markAsStakater(entries string) {
	w.t.Helper()
	body := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":%q,"value":%q}]}]}}}}`, appVariable, scenario.StakaterHash(entries))
	w.must(w.patch(reloader.Actor{User: "reloader", FieldManager: "Reloader"}, web, types.StrategicMergePatchType, body))
}

// TestDryRunOfAMissedChange: a mark proves that a change was missed, which a dry run reports and leaves as it is. What changes later is reported,
// too, of that config and of others.
func TestDryRunOfAMissedChange(t *testing.T) {
	inWorld(t, scenario.Settings{DryRun: true}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.give("other", "1")
		w.must(w.create(alice, object(t, `
kind: Deployment
metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}, {configMapRef: {name: other}}],
  env: [{name: STAKATER_APP_CONFIGMAP, value: 0123456789abcdef0123456789abcdef01234567}]}]}}}`)))
		w.settled()
		if got := w.outcomes(webRef)[reloader.ReasonDryRun]; got != 1 {
			t.Fatalf("%d dry runs for the missed change, want 1", got)
		}
		w.edit(alice, "ConfigMap/other", "2")
		w.pass(quiet)
		if got := w.outcomes(webRef)[reloader.ReasonDryRun]; got != 2 {
			t.Fatalf("%d dry runs after another config has changed, want 2", got)
		}
		w.edit(alice, app, "2")
		w.pass(quiet)
		if got := w.outcomes(webRef)[reloader.ReasonDryRun]; got != 3 {
			t.Fatalf("%d dry runs after the first config has changed, want 3", got)
		}
		if r, _ := w.store.recordOf(webRef); slices.ContainsFunc(r.Edges, func(e reloader.Edge) bool { return e.Pending != "" }) {
			t.Errorf("something is pending for ever: %+v", r.Edges)
		}
	})
}

// The move from Stakater Reloader as its guide tells it: a dry run next to it, then the swap, for which nothing rolls.

// watched lets a dry run see what meanwhile does, and then starts for real.
func (w *world) watched(meanwhile func()) {
	w.t.Helper()
	w.configure = func(o *dispatcher.Options) { o.DryRun = true }
	w.settled()
	meanwhile()
	w.pass(quiet)
	w.stop()
	w.configure = nil
	w.settled()
}

// stakater is the other tool, as it writes.
var stakater = reloader.Actor{User: "reloader", FieldManager: "Reloader"}

// annotateAsStakater writes the mark of a ConfigMap as Stakater Reloader does with its annotations strategy.
func (w *world) annotateAsStakater(name, entries string) {
	w.t.Helper()
	mark := fmt.Sprintf(`{"type":"CONFIGMAP","name":%q,"namespace":%q,"hash":%q,"containerRefs":["main"],"observedAt":%d}`,
		name, scenario.DefaultNamespace, scenario.StakaterHash(entries), time.Now().Unix())
	w.must(w.patch(stakater, web, types.StrategicMergePatchType, fmt.Appendf(nil,
		`{"spec":{"template":{"metadata":{"annotations":{"reloader.stakater.com/last-reloaded-from":%q}}}}}`, mark)))
}

// TestSwapWithOneMarkForTwo: two configs changed together during the dry run, and Stakater Reloader rolled for each; the mark of one is left.
func TestSwapWithOneMarkForTwo(t *testing.T) {
	inWorld(t, scenario.Settings{Strategy: "annotations"}, func(t *testing.T, w *world) {
		w.podStart = 2 * time.Second
		w.twoConfigs("app", "other")
		w.watched(func() {
			w.edit(alice, app, "2")
			w.annotateAsStakater("app", "a=2")
			w.edit(alice, "ConfigMap/other", "2")
			w.annotateAsStakater("other", "a=2")
		})
		w.rolled(web, 2)
	})
}

// jobs starts Jobs and leaves their CronJobs as they are. It keeps the names of the Jobs.
type jobs struct {
	dispatcher.Workloads

	mu    sync.Mutex
	names []string
}

// Roll starts a Job.
func (j *jobs) Roll(_ context.Context, w *workload.Workload, r mark.Roll) (*workload.Workload, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.names = append(j.names, r.Name)
	return w, errLost
}

// nightly creates a CronJob that uses app, whose spec begins so.
func (w *world) nightly(spec string) {
	w.t.Helper()
	w.give("app", "1")
	w.must(w.create(alice, object(w.t, `
kind: CronJob
metadata: {name: nightly, annotations: {`+auto+`}}
spec: {`+spec+`jobTemplate: {spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}}}`)))
}

// TestCallsOfTwoDispatchers: an old leader that does not know it has been replaced, and the new one, call with the same key.
func TestCallsOfTwoDispatchers(t *testing.T) {
	inWorld(t, scenario.Settings{Window: scenario.Duration(time.Second)}, func(t *testing.T, w *world) {
		hook := &calls{}
		w.configure = func(o *dispatcher.Options) { o.Webhook = hook }
		w.usual()
		w.start()
		w.settled()
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
