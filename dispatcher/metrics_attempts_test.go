package dispatcher_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
				got := map[string]float64{}
				for _, family := range gathered(t, r, "reroll_reload_attempts_total") {
					for _, m := range family.GetMetric() {
						if n := m.GetCounter().GetValue(); n > 0 {
							got[m.GetLabel()[0].GetValue()] = n
						}
					}
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("attempts (-want +got):\n%s", diff)
				}
			})
		})
	}
}
