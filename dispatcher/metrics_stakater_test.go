package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// stakaterFamilies are the metrics of Stakater Reloader that the dispatcher has.
var stakaterFamilies = map[string]family{
	"reloader_reload_executed_total": {dto.MetricType_COUNTER, map[string]string{"success": "false true"}},
}

const byNamespaceName = "reloader_reload_executed_total_by_namespace"

// TestStakaterNames: dashboards and alerts of Stakater Reloader find every metric, and every series from the start.
func TestStakaterNames(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		r := w.measured(nil)
		w.start()
		got := describe(gathered(t, r, "reloader_"))
		if diff := cmp.Diff(stakaterFamilies, got, cmp.AllowUnexported(family{})); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

// TestStakaterCounts: every attempt to roll counts, and what rolls nothing does not.
func TestStakaterCounts(t *testing.T) {
	const rolled, failed = "reloader_reload_executed_total success=true", "reloader_reload_executed_total success=false"
	for name, test := range map[string]struct {
		configure func(*dispatcher.Options)
		happen    func(w *world)
		want      map[string]float64
	}{
		"a change": {happen: func(w *world) { w.edit(alice, app, "2") }, want: map[string]float64{rolled: 1}},
		"a write that changes no data": {happen: func(w *world) {
			w.must(w.patch(alice, app, "application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`)))
		}, want: map[string]float64{}},
		"a dry run": {
			configure: func(o *dispatcher.Options) { o.DryRun = true },
			happen:    func(w *world) { w.edit(alice, app, "2") },
			want:      map[string]float64{},
		},
		"a patch that is refused three times": {happen: func(w *world) {
			left := 3
			w.failing(func(verb, _ string) error {
				if verb != "patch" || left == 0 {
					return nil
				}
				left--
				return apierrors.NewForbidden(deployments, "web", errLost)
			})
			w.edit(alice, app, "2")
		}, want: map[string]float64{rolled: 1, failed: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				r := w.measured(test.configure)
				w.usual()
				w.start()
				w.pass(quiet)
				before := counts(gathered(t, r, "reloader_"))
				test.happen(w)
				w.pass(quiet)
				if diff := cmp.Diff(test.want, difference(before, counts(gathered(t, r, "reloader_")))); diff != "" {
					t.Errorf("counted (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestCountByNamespace: a label with names of namespaces is there only if somebody asks for it.
func TestCountByNamespace(t *testing.T) {
	const success = byNamespaceName + " namespace=" + scenario.DefaultNamespace + " success=true"
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprint(on), func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				r := w.measured(func(o *dispatcher.Options) { o.CountByNamespace = on })
				w.usual()
				w.start()
				w.edit(alice, app, "2")
				w.pass(quiet)
				w.rolled(web, 1)
				want := map[string]float64{}
				if on {
					want[success] = 1
				}
				if diff := cmp.Diff(want, counts(gathered(t, r, byNamespaceName))); diff != "" {
					t.Errorf("reloads by namespace (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestChangeSeries: every change that happens is counted in a series that was there before it.
func TestChangeSeries(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		r := w.measured(nil)
		w.start()
		before := describe(gathered(t, r, "reroll_changes_total"))
		w.give("app", "1")
		w.pass(time.Minute) // so that nobody depends on it yet, and its creation is no change
		w.deploy("web", auto, "app")
		w.pass(time.Minute)
		w.edit(alice, app, "2")
		w.pass(time.Minute)
		w.must(w.delete(alice, app))
		w.pass(time.Minute)
		w.give("app", "2")
		w.pass(time.Minute)
		after := gathered(t, r, "reroll_changes_total")
		if diff := cmp.Diff(before, describe(after), cmp.AllowUnexported(family{})); diff != "" {
			t.Errorf("series that came with the first change (-before +after):\n%s", diff)
		}
		if got := len(counts(after)); got < 4 {
			t.Errorf("%d series counted changes, want one for each type", got)
		}
	})
}
