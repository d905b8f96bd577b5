package dispatcher_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// The move from Stakater Reloader as its guide tells it: a dry run beside it, then the swap, for which nothing rolls.

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
		w.settled()
		w.store.lose(errLost, errLost)
		w.edit(alice, app, "2")
		w.pass(2 * time.Second)
		w.stop()
		w.store.lose(nil, nil)
		w.must(w.patch(bob, app, types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`)))
		w.settled()
		if names := slices.Compact(slices.Clone(h.names)); len(names) != 1 {
			t.Errorf("Jobs named after %q were started for one change, want one", names)
		}
	})
}

// halfDeaf commits every roll and, while lost is set, does not hear the answer. It keeps the names of the rolls.
type halfDeaf struct {
	dispatcher.Workloads
	lost atomic.Bool

	mu    sync.Mutex
	names []string
}

// Roll rolls.
func (h *halfDeaf) Roll(ctx context.Context, w *workload.Workload, r mark.Roll) (*workload.Workload, error) {
	h.mu.Lock()
	h.names = append(h.names, r.Name)
	h.mu.Unlock()
	if w.Roll() == workload.NewJob {
		return w, nil // the CronJob stays as it is
	}
	rolled, err := h.Workloads.Roll(ctx, w, r)
	if h.lost.Load() {
		return nil, errLost
	}
	return rolled, err
}

// hear has dispatchers write through h.
func (h *halfDeaf) hear(o *dispatcher.Options) {
	h.Workloads = o.Workloads
	o.Workloads = h
}

// slowChanges take five seconds to fail, as calls to a lost server do.
type slowChanges struct{ dispatcher.History }

// AppendChange appends.
func (s slowChanges) AppendChange(ctx context.Context, c reloader.Change, last uint64) (uint64, error) {
	n, err := s.History.AppendChange(ctx, c, last)
	if err != nil {
		<-time.After(5 * time.Second)
	}
	return n, err
}
