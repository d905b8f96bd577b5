package dispatcher

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
)

// The stages of a reload, as label values of reroll_reload_stage_seconds: each begins where the one before ends.
const (
	// stageNotify is from the end of the request that changed the config until Reroll has its hint.
	stageNotify = "notify"
	// stageVerify is until the config was read and its change is known.
	stageVerify = "verify"
	// stageDecide is until the quiet window has closed and the workload is decided about.
	stageDecide = "decide"
	// stagePatch is until the API server has accepted the patch.
	stagePatch = "patch"
	// stageRollout is until all pods run the new template.
	stageRollout = "rollout"
)

// attemptResults are the label values of reroll_reload_attempts_total, by what becomes of the work.
var attemptResults = map[fate]string{fateDone: "done", fateGone: "gone", fateStale: "outdated", fateNever: "refused", fateAgain: "failed"}

// course measures the way from a change to a rollout, and counts what is saved or lost on it.
type course struct {
	stages       *prometheus.HistogramVec
	coalesced    prometheus.Counter
	held         *prometheus.CounterVec
	unchanged    prometheus.Counter
	attempts     *prometheus.CounterVec
	sweepSeconds prometheus.Histogram
}

func newCourse(r prometheus.Registerer) *course {
	c := &course{
		stages: prometheus.NewHistogramVec(histogramOpts("reroll_reload_stage_seconds",
			"Time that reloads spent in each stage, from the request that changed a config to the end of the rollout."), []string{"stage"}),
		coalesced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reroll_coalesced_changes_total", Help: "Changes that needed no roll of their own, because one roll of the workload brought several.",
		}),
		held: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_holds_total", Help: "How often a workload that was due began to be held back, by what held it back.",
		}, []string{"reason"}),
		unchanged: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reroll_unchanged_looks_total", Help: "Looks at configs that found the content as it was: what was told twice, or was no edit.",
		}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_reload_attempts_total", Help: "Attempts to patch a workload, or to call a webhook for it, by what came of them.",
		}, []string{"result"}),
		sweepSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "reroll_sweep_duration_seconds", Help: "Time from the beginning of a sweep over every config to its end; spread over the interval unless it is in a hurry.",
			Buckets:                     []float64{.1, 1, 10, 60, 300, 600, 1200, 3600},
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
		}),
	}
	for _, result := range attemptResults {
		c.attempts.WithLabelValues(result)
	}
	for _, stage := range []string{stageNotify, stageVerify, stageDecide, stagePatch, stageRollout} {
		c.stages.WithLabelValues(stage)
	}
	for _, reason := range reloader.HoldReasons {
		c.held.WithLabelValues(string(reason))
	}
	r.MustRegister(c.stages, c.coalesced, c.held, c.unchanged, c.attempts, c.sweepSeconds)
	return c
}

// tried counts an attempt that ended with err. One that was answered as invalid is for triedInvalid.
func (c *course) tried(err error) {
	if !apierrors.IsInvalid(err) {
		c.attempts.WithLabelValues(attemptResults[fateOf(err)]).Inc()
	}
}

// triedInvalid counts an attempt that was answered as invalid, by whether the workload, which was read again, had moved.
func (c *course) triedInvalid(readErr error, moved bool) {
	result := fateNever
	switch {
	case readErr != nil:
		result = fateOf(readErr)
	case moved:
		result = fateStale
	}
	c.attempts.WithLabelValues(attemptResults[result]).Inc()
}

// patched measures the stages of a reload up to its patch. What a sweep has found has not been told of by anybody.
func (c *course) patched(r reloader.Reload) {
	for _, cause := range r.Causes {
		if !cause.RequestedAt.IsZero() && !cause.ReceivedAt.IsZero() {
			measure(c.stages.WithLabelValues(stageNotify), cause.ReceivedAt.Sub(cause.RequestedAt))
			measure(c.stages.WithLabelValues(stageVerify), cause.VerifiedAt.Sub(cause.ReceivedAt))
		}
		measure(c.stages.WithLabelValues(stageDecide), r.DecidedAt.Sub(cause.VerifiedAt))
	}
	measure(c.stages.WithLabelValues(stagePatch), r.PatchedAt.Sub(r.DecidedAt))
	c.coalesced.Add(float64(max(0, len(r.Causes)-1)))
}

// measure adds a time to a histogram. Times of the API server are by its own clock, and a hint may come after the change was found, so the
// difference may be negative.
func measure(times prometheus.Observer, took time.Duration) { times.Observe(max(0, took).Seconds()) }

// heldBack counts a hold that began.
func (c *course) heldBack(reason reloader.Reason) { c.held.WithLabelValues(string(reason)).Inc() }
