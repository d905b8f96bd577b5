package dispatcher_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestAttemptsAreCounted: each patch that is tried counts, by what came of it, and nothing else does.
func TestAttemptsAreCounted(t *testing.T) {
	for name, tc := range map[string]struct {
		first error
		want  map[string]float64
	}{
		"at once":         {nil, map[string]float64{"done": 1}},
		"another write":   {apierrors.NewConflict(deployments, "web", errLost), map[string]float64{"outdated": 1, "done": 1}},
		"a server error":  {apierrors.NewInternalError(errLost), map[string]float64{"failed": 1, "done": 1}},
		"connection lost": {errLost, map[string]float64{"failed": 1, "done": 1}},
		"no right":        {apierrors.NewForbidden(deployments, "web", errNoRight), map[string]float64{"refused": 1, "done": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				r := w.measured(nil)
				w.usual()
				w.start()
				w.pass(quiet)
				err := tc.first
				w.failing(func(verb, ref string) error {
					if verb != "patch" {
						return nil
					}
					once := err
					err = nil
					return once
				})
				w.edit(alice, app, "2")
				w.pass(quiet)
				w.rolled(web, 1)
				checkAttempts(t, r, tc.want)
			})
		})
	}
}

// checkAttempts compares the attempts that were counted.
func checkAttempts(t *testing.T, r *prometheus.Registry, want map[string]float64) {
	t.Helper()
	got := map[string]float64{}
	for _, family := range gathered(t, r, "reroll_reload_attempts_total") {
		for _, m := range family.GetMetric() {
			if n := m.GetCounter().GetValue(); n > 0 {
				got[m.GetLabel()[0].GetValue()] = n
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
}

// TestInvalidAttempts: an answer of invalid is a refusal unless the workload has moved, at somebody's word too.
func TestInvalidAttempts(t *testing.T) {
	change := func(w *world, _ *process) { w.edit(alice, app, "2") }
	request := func(w *world, _ *process) { w.request("1") }
	for name, tc := range map[string]struct {
		moves bool
		act   func(*world, *process)
		want  map[string]float64
	}{
		"nothing moved":                {false, change, map[string]float64{"refused": 1, "done": 1}},
		"another writer":               {true, change, map[string]float64{"outdated": 1, "done": 1}},
		"a request, nothing moved":     {false, request, map[string]float64{"refused": 1, "done": 1}},
		"a command and another writer": {true, request, map[string]float64{"outdated": 1, "done": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				r := w.measured(nil)
				w.usual()
				p := w.start()
				w.pass(quiet)
				w.failing(func(verb, _ string) error {
					if verb != "patch" {
						return nil
					}
					w.failing(nil)
					if tc.moves {
						w.must(w.patch(bob, web, types.MergePatchType, []byte(`{"spec":{"template":{"metadata":{"labels":{"move":"1"}}}}}`)))
					}
					return unprocessable("spec.template is wrong")
				})
				tc.act(w, p)
				w.pass(quiet)
				checkAttempts(t, r, tc.want)
			})
		})
	}
}

// TestCallsAreCounted: each call of a webhook is an attempt, and where it is not called there is none.
func TestCallsAreCounted(t *testing.T) {
	change := func(w *world, _ *process) { w.edit(alice, app, "2") }
	back := func(w *world, _ *process) {
		w.edit(alice, app, "2")
		w.pass(500 * time.Millisecond)
		w.edit(alice, app, "1")
	}
	request := func(w *world, _ *process) { w.request("1") }
	for name, tc := range map[string]struct {
		dry    bool
		answer error
		act    func(*world, *process)
		result string
	}{
		"a change":             {false, nil, change, "done"},
		"answered no":          {false, refusal(true), change, "refused"},
		"a dry run":            {true, nil, change, ""},
		"there and back":       {false, nil, back, ""},
		"a request":            {false, nil, request, "done"},
		"a request, dry run":   {true, nil, request, ""},
		"a request is refused": {false, refusal(true), request, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{Window: scenario.Duration(time.Second)}, func(t *testing.T, w *world) {
				hook := &calls{answer: tc.answer}
				r := w.measured(func(o *dispatcher.Options) { o.Webhook, o.DryRun = hook, tc.dry })
				w.usual()
				p := w.start()
				w.pass(quiet)
				tc.act(w, p)
				w.pass(2 * time.Second)
				w.rolled(web, 0)
				want := map[string]float64{}
				if tc.result != "" {
					want[tc.result] = float64(max(1, len(hook.made())))
				}
				checkAttempts(t, r, want)
			})
		})
	}
}
