package dispatcher_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// Histories in which what is on record and what the workload runs with are not the same.

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

// TestAnswerLostThenBack: the patch was committed and its answer lost, and before it is tried again the content is back. The pods have
// the content of between.
func TestAnswerLostThenBack(t *testing.T) {
	for name, strategy := range map[string]string{"a variable": "env-vars", "an annotation": "annotations"} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{Strategy: strategy}, func(t *testing.T, w *world) {
				h := &halfDeaf{}
				w.configure = h.hear
				w.usual()
				w.start()
				w.pass(quiet)
				h.lost.Store(true)
				w.patched = func() { w.failing(func(string, string) error { return errLost }) }
				w.edit(alice, app, "2")
				w.pass(10 * time.Second)
				w.rolled(web, 1)
				w.edit(alice, app, "1")
				h.lost.Store(false)
				w.patched = func() {}
				w.failing(nil)
				w.pass(quiet)
				w.rolled(web, 2)
			})
		})
	}
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

// TestChangeTakenBackAfterItsPatch: without a window the patch goes out before the change is stored. If it cannot be stored, and the
// content is back before it can, the pods have the content of between.
func TestChangeTakenBackAfterItsPatch(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.configure = func(o *dispatcher.Options) {
			o.SweepInterval, o.History = 10*time.Minute, slowChanges{o.History}
		}
		w.usual()
		w.start()
		w.pass(quiet)
		w.store.lose(errLost, nil)
		w.edit(alice, app, "2")
		w.pass(2 * time.Second)
		w.rolled(web, 1)
		w.edit(alice, app, "1")
		w.pass(20 * time.Second)
		w.store.lose(nil, nil)
		w.pass(time.Hour)
		w.rolled(web, 2)
	})
}

// twoConfigs creates a Deployment with annotations that references app and other.
func (w *world) twoConfigs(first, second string) {
	w.t.Helper()
	w.give(first, "1")
	w.give(second, "1")
	w.must(w.create(alice, object(w.t, fmt.Sprintf(`
kind: Deployment
metadata: {name: web, annotations: {%s}}
spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: %s}}, {configMapRef: {name: %s}}]}]}}}`, auto, first, second))))
}

// TestCrashThenBackWithoutAMark: two configs changed and were rolled in one patch, in which there is room for one mark. The process ended
// before it could record that, and the config without a mark went back meanwhile.
func TestCrashThenBackWithoutAMark(t *testing.T) {
	settings := scenario.Settings{Strategy: "annotations", Window: scenario.Duration(5 * time.Second), MaxWait: scenario.Duration(time.Minute)}
	inWorld(t, settings, func(t *testing.T, w *world) {
		w.twoConfigs("app", "other")
		w.start()
		w.pass(quiet)
		w.store.lose(nil, errLost)
		w.edit(alice, app, "2")
		w.pass(2 * time.Second)
		w.edit(alice, "ConfigMap/other", "2")
		w.pass(10 * time.Second)
		w.rolled(web, 1)
		w.stop()
		w.edit(alice, app, "1")
		w.store.lose(nil, nil)
		w.pass(time.Minute)
		w.start()
		w.pass(quiet)
		w.rolled(web, 2)
	})
}

const rollout scenario.Ref = "Rollout/web"

// restarting creates a Rollout that is restarted for app.
func (w *world) restarting() {
	w.t.Helper()
	w.give("app", "1")
	w.must(w.create(alice, object(w.t, `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, annotations: {`+auto+`, reloader.stakater.com/rollout-strategy: restart}}
spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}`)))
}

// TestCrashThenBackOfARestart: a restart leaves no mark of the content.
func TestCrashThenBackOfARestart(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.restarting()
		w.start()
		w.pass(quiet)
		w.counted("patch")
		w.store.lose(nil, errLost)
		w.edit(alice, app, "2")
		w.pass(time.Second)
		if n := w.counted("patch"); n != 1 {
			t.Fatalf("%d restarts, want 1", n)
		}
		w.stop()
		w.edit(alice, app, "1")
		w.store.lose(nil, nil)
		w.pass(time.Minute)
		w.start()
		w.pass(quiet)
		if n := w.counted("patch"); n != 1 {
			t.Errorf("%d restarts for the content of before, want 1", n)
		}
	})
}

// TestCrashOfAnotherInTheSamePlace: the mark that an ended process left is that of a-b, and a.b, which shares its place, changed later.
func TestCrashOfAnotherInTheSamePlace(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.twoConfigs("a.b", "a-b")
		w.start()
		w.pass(quiet)
		w.store.lose(nil, errLost)
		w.edit(alice, "ConfigMap/a-b", "2")
		w.pass(time.Second)
		w.rolled(web, 1)
		w.stop()
		w.edit(alice, "ConfigMap/a.b", "3")
		w.store.lose(nil, nil)
		w.pass(time.Minute)
		w.start()
		w.pass(quiet)
		w.rolled(web, 2)
	})
}

// TestRestoredWithOneMarkForTwo: state of last week rolls nothing that is up to date, also if only one of its marks can be seen.
func TestRestoredWithOneMarkForTwo(t *testing.T) {
	inWorld(t, scenario.Settings{Strategy: "annotations"}, func(t *testing.T, w *world) {
		w.twoConfigs("app", "other")
		w.start()
		w.pass(quiet)
		old := w.store.snapshot()
		w.edit(alice, app, "2")
		w.pass(quiet)
		w.edit(alice, "ConfigMap/other", "2")
		w.pass(quiet)
		w.rolled(web, 2)
		w.stop()
		w.store = old
		w.start()
		w.pass(quiet)
		w.rolled(web, 2)
	})
}
