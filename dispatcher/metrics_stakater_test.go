package dispatcher_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/tests/scenario"
)

const workloadKinds = "CronJob DaemonSet Deployment DeploymentConfig Job Rollout StatefulSet"

// stakaterFamilies are the metrics of Stakater Reloader 1.4 that the dispatcher has, and the one kind of workload more that we know.
// Values that can never be seen here are missing: events about namespaces.
var stakaterFamilies = map[string]family{
	"reloader_reload_executed_total":      {dto.MetricType_COUNTER, map[string]string{"success": "false true"}},
	"reloader_reconcile_total":            {dto.MetricType_COUNTER, map[string]string{"result": "error skipped success"}},
	"reloader_reconcile_duration_seconds": {dto.MetricType_HISTOGRAM, map[string]string{"result": "error skipped success"}},
	"reloader_action_total":               {dto.MetricType_COUNTER, map[string]string{"workload_kind": workloadKinds, "result": "error success"}},
	"reloader_action_latency_seconds":     {dto.MetricType_HISTOGRAM, map[string]string{"workload_kind": workloadKinds}},
	"reloader_skipped_total": {dto.MetricType_COUNTER, map[string]string{
		"reason": "ignored_or_not_selected no_data_change strategy_not_updated",
	}},
	"reloader_workqueue_depth":           {dto.MetricType_GAUGE, map[string]string{}},
	"reloader_workqueue_adds_total":      {dto.MetricType_COUNTER, map[string]string{}},
	"reloader_workqueue_latency_seconds": {dto.MetricType_HISTOGRAM, map[string]string{}},
	"reloader_errors_total":              {dto.MetricType_COUNTER, map[string]string{"type": "handler_error invalid_handler_type"}},
	"reloader_retries_total":             {dto.MetricType_COUNTER, map[string]string{}},
	"reloader_events_received_total": {dto.MetricType_COUNTER, map[string]string{
		"event_type": "add delete update", "resource_type": "configmaps secretproviderclasspodstatuses secrets",
	}},
	"reloader_events_processed_total": {dto.MetricType_COUNTER, map[string]string{
		"event_type": "unknown", "resource_type": "configmaps secretproviderclasspodstatuses secrets", "result": "dropped success",
	}},
	"reloader_workloads_scanned_total": {dto.MetricType_COUNTER, map[string]string{"kind": workloadKinds}},
	"reloader_workloads_matched_total": {dto.MetricType_COUNTER, map[string]string{"kind": workloadKinds}},
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

// TestStakaterCounts: what is counted for each thing that can happen after the start.
func TestStakaterCounts(t *testing.T) {
	const (
		received  = "reloader_events_received_total event_type=%s resource_type=configmaps"
		processed = "reloader_events_processed_total event_type=unknown resource_type=configmaps result=success"
		compared  = "reloader_workloads_scanned_total kind=Deployment"
		matched   = "reloader_workloads_matched_total kind=Deployment"
	)
	update, create, remove := fmt.Sprintf(received, "update"), fmt.Sprintf(received, "add"), fmt.Sprintf(received, "delete")
	looks := func(result string, n float64) map[string]float64 {
		return map[string]float64{"reloader_reconcile_total result=" + result: n, "reloader_reconcile_duration_seconds result=" + result: n}
	}
	skips := func(reason string, n float64) map[string]float64 {
		return map[string]float64{"reloader_skipped_total reason=" + reason: n}
	}
	rolls := func(success, result string, n float64) map[string]float64 {
		return map[string]float64{
			"reloader_reload_executed_total success=" + success:                    n,
			"reloader_action_total result=" + result + " workload_kind=Deployment": n,
			"reloader_action_latency_seconds workload_kind=Deployment":             n,
		}
	}
	failures := func(n float64) map[string]float64 {
		return map[string]float64{"reloader_errors_total type=handler_error": n, "reloader_retries_total": n}
	}
	tests := map[string]struct {
		configure func(*dispatcher.Options)
		happen    func(w *world)
		want      []map[string]float64
	}{
		"a change": {
			happen: func(w *world) { w.edit(alice, app, "2") },
			want:   []map[string]float64{{update: 1, processed: 1, compared: 1, matched: 1}, looks("success", 1), rolls("true", "success", 1)},
		},
		"a write that changes no data": {
			happen: func(w *world) {
				w.must(w.patch(alice, app, "application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`)))
			},
			want: []map[string]float64{{update: 1, processed: 1}, looks("skipped", 1), skips("no_data_change", 1)},
		},
		"a config that nobody depends on": {
			happen: func(w *world) { w.give("other", "1") },
			want:   []map[string]float64{{create: 1, processed: 1}, skips("ignored_or_not_selected", 1)},
		},
		"a config that is ignored": {
			happen: func(w *world) {
				w.must(w.patch(alice, app, "application/merge-patch+json",
					[]byte(`{"metadata":{"annotations":{"reloader.stakater.com/ignore":"true"}},"data":{"a":"2"}}`)))
			},
			want: []map[string]float64{{update: 1, processed: 1, compared: 1}, looks("success", 1), skips("ignored_or_not_selected", 1)},
		},
		"a deletion": {
			happen: func(w *world) { w.must(w.delete(alice, app)) },
			want:   []map[string]float64{{remove: 1, processed: 1}, looks("success", 1)},
		},
		"a deletion that finds no mark": {
			configure: absences(false, true),
			happen:    func(w *world) { w.must(w.delete(alice, app)) },
			want: []map[string]float64{
				{remove: 1, processed: 1, compared: 1, matched: 1},
				looks("success", 1), looks("skipped", 1), skips("strategy_not_updated", 1), // it is looked for again before it is decided
			},
		},
		"a change that is taken back within the window": {
			configure: func(o *dispatcher.Options) { o.Window, o.MaxWait = 5*time.Second, 5*time.Second },
			happen: func(w *world) {
				w.edit(alice, app, "2")
				w.pass(time.Second)
				w.edit(alice, app, "1")
			},
			want: []map[string]float64{{update: 2, processed: 2, compared: 1, matched: 1}, looks("success", 2), skips("no_data_change", 1)},
		},
		"a dry run": {
			configure: func(o *dispatcher.Options) { o.DryRun = true },
			happen:    func(w *world) { w.edit(alice, app, "2") },
			want:      []map[string]float64{{update: 1, processed: 1, compared: 1, matched: 1}, looks("success", 1)},
		},
		"a patch that is refused three times": {
			happen: func(w *world) {
				left := 3
				w.failing(func(verb, _ string) error {
					if verb != "patch" || left == 0 {
						return nil
					}
					left--
					return apierrors.NewForbidden(deployments, "web", errLost)
				})
				w.edit(alice, app, "2")
			},
			want: []map[string]float64{
				{update: 1, processed: 1, compared: 1, matched: 1},
				looks("success", 1), rolls("true", "success", 1), failures(3),
				{
					"reloader_reload_executed_total success=false":                3,
					"reloader_action_total result=error workload_kind=Deployment": 3,
					"reloader_action_latency_seconds workload_kind=Deployment":    3,
				},
			},
		},
		"a config that cannot be read once": {
			happen: func(w *world) {
				left := 1
				w.failing(func(verb, _ string) error {
					if verb != "get" || left == 0 {
						return nil
					}
					left--
					return errLost
				})
				w.edit(alice, app, "2")
			},
			want: []map[string]float64{
				{update: 2, processed: 1, compared: 1, matched: 1},
				looks("success", 1), looks("error", 1), rolls("true", "success", 1), failures(1),
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want := map[string]float64{}
			for _, part := range test.want {
				for name, n := range part {
					want[name] += n
				}
			}
			if diff := cmp.Diff(want, countedWhen(t, test.configure, test.happen)); diff != "" {
				t.Errorf("counted (-want +got):\n%s", diff)
			}
		})
	}
}

// countedWhen returns what is counted when something happens in a world where all is quiet, but for the queues.
func countedWhen(t *testing.T, configure func(*dispatcher.Options), happen func(*world)) map[string]float64 {
	t.Helper()
	var counted map[string]float64
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		r := w.measured(configure)
		w.usual()
		w.start()
		w.pass(quiet)
		before := counts(gathered(t, r, "reloader_"))
		happen(w)
		w.pass(quiet)
		counted = difference(before, counts(gathered(t, r, "reloader_")))
	})
	maps.DeleteFunc(counted, func(name string, _ float64) bool { return strings.HasPrefix(name, "reloader_workqueue_") })
	return counted
}

// TestStakaterQueue: everything that is given to workers is measured once, and nothing waits when all is quiet.
func TestStakaterQueue(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		r := w.measured(nil)
		w.usual()
		w.start()
		w.pass(quiet)
		before := counts(gathered(t, r, "reloader_workqueue_"))
		w.edit(alice, app, "2")
		w.pass(quiet)
		after := counts(gathered(t, r, "reloader_workqueue_"))
		const adds, seconds, depth = "reloader_workqueue_adds_total", "reloader_workqueue_latency_seconds", "reloader_workqueue_depth"
		// A look, a flush and a record at least.
		if got := after[adds] - before[adds]; got < 3 || after[adds] != after[seconds] || after[depth] != 0 {
			t.Errorf("a change brings %v adds; in all %v are added and %v measured, and %v wait", got, after[adds], after[seconds], after[depth])
		}
	})
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
