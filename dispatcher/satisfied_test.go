package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// restart does what kubectl rollout restart does.
func (w *world) restart(ref scenario.Ref) {
	w.t.Helper()
	body := `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"` + time.Now().Format(time.RFC3339) + `"}}}}}`
	w.must(w.patch(bob, ref, types.MergePatchType, []byte(body)))
}

// starting has pods take that long to start from now on.
func (w *world) starting(takes time.Duration) {
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	w.podStart = takes
}

// TestRolledByOthersWhileItWaits: who waits long, be it for a window or because somebody holds it back, may be rolled by somebody else
// meanwhile. Then all its pods have started with the content that it waits for, and it is not rolled once more.
func TestRolledByOthersWhileItWaits(t *testing.T) {
	settings := scenario.Settings{Window: scenario.Duration(time.Hour), MaxWait: scenario.Duration(time.Hour)}
	inWorld(t, settings, func(t *testing.T, w *world) {
		w.usually()
		w.edit(alice, app, "2")
		w.pass(10 * time.Minute)
		w.restart(web)
		w.pass(2 * time.Hour)
		w.rolled(web, 1)
		if got := w.outcomes(webRef); got[reloader.ReasonPodsNewer] != 1 || got[reloader.ReasonReloaded] != 0 {
			t.Errorf("outcomes %v, want one PodsNewer", got)
		}
		w.edit(alice, app, "1")
		w.pass(2 * time.Hour)
		w.rolled(web, 2)
	})
}

// TestRolledByOthersWhileAway: content that is written, and a workload that somebody changes after that, while no dispatcher runs, leave nothing
// to do; but not where the pods may have started before the content became what it is.
func TestRolledByOthersWhileAway(t *testing.T) {
	write := func(data string) func(*world) {
		return func(w *world) {
			w.must(w.patch(bob, app, types.MergePatchType, fmt.Appendf(nil, `{"data":%s}`, data)))
		}
	}
	restart := func(w *world) { w.restart(web) }
	for name, c := range map[string]struct {
		away []func(*world)
		// rolls are those of Reroll.
		rolls int
	}{
		"content before pods": {[]func(*world){write(`{"a":"2"}`), restart}, 0},
		"pods before content": {[]func(*world){restart, write(`{"a":"2"}`)}, 1},
		"content last":        {[]func(*world){write(`{"a":"2"}`), restart, write(`{"a":"3"}`)}, 1},
		"a key was taken":     {[]func(*world){write(`{"z":null}`), restart}, 1},
		"a label came last": {[]func(*world){write(`{"a":"2"}`), restart, func(w *world) {
			w.must(w.patch(alice, app, types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`)))
		}}, 1},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.usually()
			w.must(w.patch(alice, app, types.MergePatchType, []byte(`{"data":{"z":"1"}}`)))
			w.pass(quiet)
			w.stop()
			before := w.outcomes(webRef)[reloader.ReasonReloaded]
			for _, do := range c.away {
				w.pass(time.Minute)
				do(w)
			}
			w.pass(time.Minute)
			w.settled()
			if got := w.outcomes(webRef)[reloader.ReasonReloaded] - before; got != c.rolls {
				t.Errorf("it was rolled %d times, want %d: %v", got, c.rolls, w.outcomes(webRef))
			}
			w.edit(alice, app, "4")
			w.pass(quiet)
			if got := w.outcomes(webRef)[reloader.ReasonReloaded] - before; got != c.rolls+1 {
				t.Errorf("after the next change it was rolled %d times, want %d", got, c.rolls+1)
			}
		})
	}
}

// TestBackAfterPodsHaveStarted: while a workload is held back its config changes, containers of the template start, be they sidecars, and the content is
// back. What is on record, and on the workload, is that content; but the pods have the one of between. Containers that somebody else has put into the pods
// do not count.
func TestBackAfterPodsHaveStarted(t *testing.T) {
	for part, rolls := range map[string]int64{"main": 1, "sidecar": 1, "setup": 1, "injected": 0, "nothing": 0} {
		runWorld(t, part, scenario.Settings{}, func(t *testing.T, w *world) {
			w.give("app", "1")
			w.must(w.create(alice, object(t, `
kind: Deployment
metadata: {name: web, annotations: {`+auto+`}}
spec: {template: {spec: {
  initContainers: [{name: setup}, {name: sidecar, restartPolicy: Always}],
  containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}`)))
			p := w.settled()
			p.SetControl(control.Frozen(control.Freeze{}))
			w.edit(alice, app, "2")
			w.pass(time.Minute)
			if part != "nothing" {
				w.cluster.mu.Lock()
				w.part = part
				w.cluster.mu.Unlock()
				w.restarted(web)
				w.pass(time.Minute)
			}
			w.edit(alice, app, "1")
			w.pass(time.Minute)
			p.SetControl(control.Control{})
			w.rolls(rolls)
			w.successor()
			w.rolled(web, rolls)
		})
	}
}
