package dispatcher_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// The move from Stakater Reloader as its guide tells it: a dry run beside it, then the swap, for which nothing rolls.

// watched lets a dry run see what meanwhile does, and then starts for real.
func (w *world) watched(meanwhile func()) {
	w.t.Helper()
	w.configure = func(o *dispatcher.Options) { o.DryRun = true }
	w.start()
	w.pass(quiet)
	meanwhile()
	w.pass(quiet)
	w.stop()
	w.configure = nil
	w.start()
	w.pass(quiet)
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

// TestSwapOfACronJob: Stakater Reloader started a Job for the change that the dry run saw.
func TestSwapOfACronJob(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.must(w.create(alice, object(t, `
kind: CronJob
metadata: {name: nightly, annotations: {`+auto+`}}
spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}}}`)))
		w.watched(func() { w.edit(alice, app, "2") })
		if n := w.counted("patch"); n != 0 {
			t.Errorf("%d Jobs were started at the swap, want none", n)
		}
	})
}

// TestSwapOfARestart: Stakater Reloader restarted the Rollout for the change that the dry run saw.
func TestSwapOfARestart(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.restarting()
		w.watched(func() {
			w.edit(alice, app, "2")
			w.must(w.patch(stakater, rollout, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"restartAt":%q}}`, time.Now().UTC().Format(time.RFC3339))))
			w.cluster.mu.Lock()
			w.started[rollout] = time.Now().Add(2 * time.Second) // what Argo's controller does
			w.cluster.mu.Unlock()
		})
		if n := w.counted("patch"); n != 0 {
			t.Errorf("%d restarts at the swap, want none", n)
		}
	})
}

// TestSwapAfterARestartOfAll: nobody marked the workload for the change that the dry run saw, but all its pods have started since.
func TestSwapAfterARestartOfAll(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usual()
		w.watched(func() {
			w.edit(alice, app, "2")
			w.pass(time.Minute)
			w.must(w.patch(bob, web, types.StrategicMergePatchType,
				[]byte(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2000-01-01T00:05:00Z"}}}}}`)))
		})
		w.rolled(web, 1)
	})
}

// TestSwapAfterALateLabel: the audit events of the edit and of a later label came in together, as a batch.
func TestSwapAfterALateLabel(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usual()
		w.watched(func() {
			w.stream.hold()
			w.edit(alice, app, "2")
			w.markAsStakater("a=2")
			w.pass(10 * time.Second)
			w.must(w.patch(bob, app, types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`)))
			w.pass(time.Second)
			w.stream.send(w.stream.take()...)
		})
		w.rolled(web, 1)
	})
}

// TestSwapBackAndForth: Stakater Reloader followed the content there and back.
func TestSwapBackAndForth(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usual()
		w.watched(func() {
			for _, value := range []string{"2", "1", "2", "1"} {
				w.edit(alice, app, value)
				w.pass(time.Second)
				w.markAsStakater("a=" + value)
				w.pass(time.Minute)
			}
		})
		w.rolled(web, 4)
	})
}

// TestDryRunSaysWhatComesAgain: each change is said, also one that brings content of before.
func TestDryRunSaysWhatComesAgain(t *testing.T) {
	inWorld(t, scenario.Settings{DryRun: true}, func(t *testing.T, w *world) {
		w.usual()
		w.start()
		w.pass(quiet)
		for _, value := range []string{"2", "1", "2"} {
			w.edit(alice, app, value)
			w.pass(quiet)
		}
		if got := w.outcomes(webRef); got[reloader.ReasonDryRun] < 2 {
			t.Errorf("outcomes %v, want DryRun for each change to other content", got)
		}
	})
}

// TestOneJobAfterACrash: the Job was started, the process ended before the change was stored, and a label of the config changed before
// the next began. The Job has the name of the first.
func TestOneJobAfterACrash(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		h := &halfDeaf{}
		w.configure = func(o *dispatcher.Options) {
			h.hear(o)
			o.History = slowChanges{o.History}
		}
		w.give("app", "1")
		w.must(w.create(alice, object(t, `
kind: CronJob
metadata: {name: nightly, annotations: {`+auto+`}}
spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}}}`)))
		w.start()
		w.pass(quiet)
		w.store.lose(errLost, errLost)
		w.edit(alice, app, "2")
		w.pass(2 * time.Second)
		w.stop()
		w.store.lose(nil, nil)
		w.must(w.patch(bob, app, types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`)))
		w.start()
		w.pass(quiet)
		if names := slices.Compact(slices.Clone(h.names)); len(names) != 1 {
			t.Errorf("Jobs named after %q were started for one change, want one", names)
		}
	})
}

// TestSwapAfterALabelWhileAway: between the dry run and the swap a config was edited, which Stakater Reloader rolled for, and then its
// writer gave it a label.
func TestSwapAfterALabelWhileAway(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usual()
		w.watched(func() {
			w.stop()
			w.edit(alice, app, "2")
			w.markAsStakater("a=2")
			w.pass(10 * time.Second)
			w.must(w.patch(alice, app, types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`)))
			w.rewrote(app)
			w.stream.forget()
		})
		w.rolled(web, 1)
	})
}
