package metrics_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/dispatcher/metrics"
	"github.com/reroll-dev/reroll/reloader"
)

// names has every metric with its type, and how many series it has from the start.
var names = map[string]string{
	"reloader_reload_executed_total":           "COUNTER 2",
	"reroll_change_to_patch_seconds":           "HISTOGRAM 1",
	"reroll_changes_total":                     fmt.Sprint("COUNTER ", 4*len(reloader.Sources)),
	"reroll_config_reads_total":                "COUNTER 2",
	"reroll_dead_letters":                      fmt.Sprint("GAUGE ", len(reloader.DeadLetterReasons)),
	"reroll_decision_to_patch_seconds":         "HISTOGRAM 1",
	"reroll_held_workloads":                    fmt.Sprint("GAUGE ", len(reloader.HoldReasons)),
	"reroll_hints_total":                       "COUNTER 3",
	"reroll_holds_total":                       fmt.Sprint("COUNTER ", len(reloader.HoldReasons)),
	"reroll_hot_reload_calls_total":            "COUNTER 2",
	"reroll_oldest_pending_age_seconds":        fmt.Sprint("GAUGE ", len(reloader.HoldReasons)+1),
	"reroll_pending_workloads":                 "GAUGE 1",
	"reroll_reload_attempts_total":             "COUNTER 5",
	"reroll_reload_stage_seconds":              "HISTOGRAM 5",
	"reroll_reloads_total":                     fmt.Sprint("COUNTER ", len(reloader.Reasons)),
	"reroll_rollout_duration_seconds":          "HISTOGRAM 1",
	"reroll_rollouts_total":                    fmt.Sprint("COUNTER ", len(reloader.RolloutResults)),
	"reroll_sweep_completed_timestamp_seconds": "GAUGE 1",
	"reroll_sweep_drift_total":                 "COUNTER 1",
	"reroll_sweep_duration_seconds":            "HISTOGRAM 1",
	"reroll_sweep_interval_seconds":            "GAUGE 1",
	"reroll_tracked_workloads":                 "GAUGE 1",
}

// started returns metrics with a snapshot, and their registry.
func started(o metrics.Options, s metrics.Snapshot) (*metrics.Metrics, *prometheus.Registry) {
	r := prometheus.NewRegistry()
	o.Registerer, o.Snapshot = r, func(time.Time) metrics.Snapshot { return s }
	return metrics.New(o), r
}

// values returns the series that are not zero: of a histogram, how often and how much was measured.
func values(t *testing.T, r *prometheus.Registry) map[string]string {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			if h := m.GetHistogram(); h != nil && h.GetSampleCount() > 0 {
				found[name] = fmt.Sprintf("%d × %g", h.GetSampleCount(), h.GetSampleSum())
			} else if value := m.GetCounter().GetValue() + m.GetGauge().GetValue(); value != 0 {
				found[name] = fmt.Sprint(value)
			}
		}
	}
	return found
}

// TestEverySeriesExistsFromTheStart: dashboards and alerts find every metric, and see the first increment of each.
func TestEverySeriesExistsFromTheStart(t *testing.T) {
	_, r := started(metrics.Options{}, metrics.Snapshot{})
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, f := range families {
		found[f.GetName()] = fmt.Sprintf("%s %d", f.GetType(), len(f.GetMetric()))
	}
	if diff := cmp.Diff(names, found); diff != "" {
		t.Errorf("from the start (-want +got):\n%s", diff)
	}
}

// TestStagesOfAReload: a reload for two changes, of which a sweep found one, and the clock of the API server is ahead for the other.
func TestStagesOfAReload(t *testing.T) {
	m, r := started(metrics.Options{}, metrics.Snapshot{})
	at := func(s int) time.Time { return time.Unix(1000+int64(s), 0) }
	m.Patched(reloader.Reload{
		Causes:    []reloader.Cause{{RequestedAt: at(3), ReceivedAt: at(2), VerifiedAt: at(4)}, {VerifiedAt: at(5)}},
		DecidedAt: at(6), PatchedAt: at(9),
	})
	m.RolledOut(reloader.Rollout{Result: reloader.ReasonRolledOut, StartedAt: at(9), EndedAt: at(19)})
	m.RolledOut(reloader.Rollout{Result: reloader.ReasonStalled, StartedAt: at(9), EndedAt: at(19)})
	want := map[string]string{
		"reroll_change_to_patch_seconds":                            "1 × 6",
		"reroll_decision_to_patch_seconds":                          "1 × 3",
		"reroll_reload_stage_seconds decide":                        "2 × 3",
		"reroll_reload_stage_seconds notify":                        "1 × 0",
		"reroll_reload_stage_seconds patch":                         "1 × 3",
		"reroll_reload_stage_seconds rollout":                       "1 × 10",
		"reroll_reload_stage_seconds verify":                        "1 × 2",
		"reroll_rollout_duration_seconds":                           "1 × 10",
		"reroll_rollouts_total " + string(reloader.ReasonRolledOut): "1",
		"reroll_rollouts_total " + string(reloader.ReasonStalled):   "1",
	}
	if diff := cmp.Diff(want, values(t, r)); diff != "" {
		t.Errorf("measured (-want +got):\n%s", diff)
	}
}

func TestSnapshot(t *testing.T) {
	_, r := started(metrics.Options{SweepInterval: 10 * time.Minute}, metrics.Snapshot{
		Tracked: 9, Pending: 5,
		Held:   map[reloader.Reason]int{reloader.ReasonFrozen: 2, reloader.ReasonRefused: 1},
		Oldest: map[reloader.Reason]time.Duration{"": 5 * time.Second, reloader.ReasonFrozen: time.Hour},
	})
	want := map[string]string{
		"reroll_dead_letters Refused":              "1",
		"reroll_held_workloads Frozen":             "2",
		"reroll_held_workloads Refused":            "1",
		"reroll_oldest_pending_age_seconds Frozen": "3600",
		"reroll_oldest_pending_age_seconds none":   "5",
		"reroll_pending_workloads":                 "5",
		"reroll_sweep_interval_seconds":            "600",
		"reroll_tracked_workloads":                 "9",
	}
	if diff := cmp.Diff(want, values(t, r)); diff != "" {
		t.Errorf("collected (-want +got):\n%s", diff)
	}
}
