package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/reroll-dev/reroll/reloader"
)

// The stages of a reload, as label values of reroll_reload_stage_seconds. Each begins where the one before ends.
const (
	// stageNotify is from the end of the request that changed the config until Reroll has its hint.
	stageNotify = "notify"
	// stageVerify is until the config was read and its change is known.
	stageVerify = "verify"
	// stageDecide is until the debounce window has closed and the workload is decided about.
	stageDecide = "decide"
	// stagePatch is until the API server has accepted the patch.
	stagePatch = "patch"
	// stageRollout is until all pods run the new template.
	stageRollout = "rollout"
)

// times measures the way from a change to a rollout.
type times struct {
	stages                          *prometheus.HistogramVec
	sinceRequest, sinceDue, rollout prometheus.Histogram
}

func newTimes(register promauto.Factory) times {
	t := times{
		stages: register.NewHistogramVec(histogram("reroll_reload_stage_seconds",
			"Time that reloads spent in each stage, from the request that changed a config to the end of the rollout."), []string{"stage"}),
		sinceRequest: register.NewHistogram(histogram("reroll_change_to_patch_seconds",
			"Time from the end of the request that changed a config to the accepted patch of a dependent workload.")),
		sinceDue: register.NewHistogram(histogram("reroll_decision_to_patch_seconds",
			"Time from the close of a workload's quiet window to its accepted patch.")),
		rollout: register.NewHistogram(histogram("reroll_rollout_duration_seconds",
			"Time from the accepted patch of a workload until all its pods run the new template.")),
	}
	for _, stage := range []string{stageNotify, stageVerify, stageDecide, stagePatch, stageRollout} {
		t.stages.WithLabelValues(stage)
	}
	return t
}

func newSweepTimes(register promauto.Factory) prometheus.Histogram {
	o := histogram("reroll_sweep_duration_seconds",
		"Time that a resync took to compare every config with what was last seen of it.")
	o.Buckets = []float64{.1, 1, 10, 60, 300, 600, 1200, 3600}
	return register.NewHistogram(o)
}

func histogram(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help,
		Buckets:                         []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  160,
		NativeHistogramMinResetDuration: time.Hour,
	}
}

// Patched measures a reload up to its accepted patch. No request is known for a cause that a sweep found.
func (m *Metrics) Patched(r reloader.Reload) {
	for _, cause := range r.Causes {
		if !cause.RequestedAt.IsZero() {
			measure(m.times.sinceRequest, r.PatchedAt.Sub(cause.RequestedAt))
		}
		if !cause.RequestedAt.IsZero() && !cause.ReceivedAt.IsZero() {
			measure(m.times.stages.WithLabelValues(stageNotify), cause.ReceivedAt.Sub(cause.RequestedAt))
			measure(m.times.stages.WithLabelValues(stageVerify), cause.VerifiedAt.Sub(cause.ReceivedAt))
		}
		measure(m.times.stages.WithLabelValues(stageDecide), r.DecidedAt.Sub(cause.VerifiedAt))
	}
	measure(m.times.stages.WithLabelValues(stagePatch), r.PatchedAt.Sub(r.DecidedAt))
	measure(m.times.sinceDue, r.PatchedAt.Sub(r.DecidedAt))
}

// RolledOut counts a rollout that is decided, and measures one that came to its end.
func (m *Metrics) RolledOut(r reloader.Rollout) {
	m.rollouts.WithLabelValues(string(r.Result)).Inc()
	if r.Result == reloader.ReasonRolledOut {
		took := r.EndedAt.Sub(r.StartedAt)
		measure(m.times.stages.WithLabelValues(stageRollout), took)
		measure(m.times.rollout, took)
	}
}

// measure adds a duration to a histogram. Times of the API server are by its own clock, and a hint may come after the change was found, so the
// duration may be negative; it counts as 0 then.
func measure(times prometheus.Observer, took time.Duration) { times.Observe(max(0, took).Seconds()) }
