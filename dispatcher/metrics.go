package dispatcher

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/reloader"
)

// metrics are what the dispatcher counts. Labels come from closed sets; names of objects never are labels.
type metrics struct {
	hints, changes, reloads, reads *prometheus.CounterVec
	latency, patchLatency          prometheus.Histogram
	rollouts                       *prometheus.CounterVec
	rolloutDuration                prometheus.Histogram
	drift                          prometheus.Counter
	swept                          prometheus.Gauge
	*course
}

func newMetrics(r prometheus.Registerer, d *Dispatcher) *metrics {
	m := &metrics{
		hints: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_hints_total", Help: "Hints taken from the stream, by what became of them.",
		}, []string{"result"}),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_changes_total", Help: "Verified changes of configs, by type and source.",
		}, []string{"type", "source"}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_reloads_total", Help: "Decisions about workloads whose config changed, by outcome.",
		}, []string{"outcome"}),
		reads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_config_reads_total", Help: "Reads of configs from the API server, by what was read.",
		}, []string{"part"}),
		latency: histogram("reroll_change_to_patch_seconds",
			"Time from the end of the request that changed a config to the accepted patch of a dependent workload."),
		patchLatency: histogram("reroll_decision_to_patch_seconds",
			"Time from the close of a workload's quiet window to its accepted patch."),
	}
	m.rollouts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "reroll_rollouts_total", Help: "Results of rollouts after a reload. One that waits for somebody, or has stalled, may still roll out, and counts again then.",
	}, []string{"result"})
	m.rolloutDuration = histogram("reroll_rollout_duration_seconds", "Time from the accepted patch of a workload until all its pods run the new template.")
	m.drift = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "reroll_sweep_drift_total", Help: "Changes that a sweep found and no hint told of within five minutes: what the feed has missed.",
	})
	m.swept = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "reroll_sweep_completed_timestamp_seconds", Help: "When every config was last looked at; 0 until the sweep at the start has ended, and for good without others.",
	})
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "reroll_sweep_interval_seconds", Help: "How often configs are to be looked at, --sweep-interval; 0 is at the start only.",
	}, d.SweepInterval.Seconds))
	r.MustRegister(m.rollouts, m.rolloutDuration, m.drift, m.swept, m.hints, m.changes, m.reloads, m.reads, m.latency, m.patchLatency,
		gauge("reroll_tracked_workloads", "Workloads that opted in.", func() int { return len(d.index.byRef) }, d),
		gauge("reroll_pending_workloads", "Workloads that wait to be rolled.", d.countPending, d),
		newWaiting(d))
	m.course = newCourse(r)
	for _, reason := range reloader.HoldReasons {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "reroll_held_workloads", Help: "Workloads that wait longer than for their quiet window, by what holds them back.",
			ConstLabels: prometheus.Labels{"reason": string(reason)},
		}, func() float64 { return d.countHeld(reason) }))
	}
	for _, reason := range reloader.DeadLetterReasons {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "reroll_dead_letters", Help: "Workloads that could not be patched and will not be without help, by reason.",
			ConstLabels: prometheus.Labels{"reason": string(reason)},
		}, func() float64 { return d.countHeld(reason) }))
	}
	for _, result := range reloader.RolloutResults {
		m.rollouts.WithLabelValues(string(result))
	}
	for _, result := range []string{"verified", "nobody_depends", "retried"} {
		m.hints.WithLabelValues(result)
	}
	for _, part := range []string{"metadata", "content"} {
		m.reads.WithLabelValues(part)
	}
	countNothing(m.changes)
	for reason := range reloader.Reasons {
		m.reloads.WithLabelValues(string(reason))
	}
	return m
}

// countNothing makes the series of every type of change with every source that it can have.
func countNothing(changes *prometheus.CounterVec) {
	changes.WithLabelValues(string(reloader.ChangeBaseline), string(reloader.SourceBaseline))
	for _, source := range []reloader.Source{reloader.SourceAudit, reloader.SourceShipped, reloader.SourceWatch, reloader.SourceSweep} {
		for _, changeType := range []reloader.ChangeType{reloader.ChangeUpdated, reloader.ChangeCreated, reloader.ChangeDeleted} {
			changes.WithLabelValues(string(changeType), string(source))
		}
		if source != reloader.SourceSweep {
			changes.WithLabelValues(string(reloader.ChangeBaseline), string(source))
		}
	}
}

func histogram(name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(histogramOpts(name, help))
}

func histogramOpts(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help,
		Buckets:                         []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  160,
		NativeHistogramMinResetDuration: time.Hour,
	}
}

func gauge(name, help string, count func() int, d *Dispatcher) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
		d.mu.Lock()
		defer d.mu.Unlock()
		return float64(count())
	})
}

func (d *Dispatcher) countPending() int {
	n := 0
	for _, t := range d.index.byRef {
		if len(t.pending) > 0 {
			n++
		}
	}
	return n
}

func (d *Dispatcher) countHeld(reason reloader.Reason) (n float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.index.byRef {
		if t.hold != nil && t.hold.Reason == reason {
			n++
		}
	}
	return n
}

// observe measures a reload that was patched.
func (m *metrics) observe(r reloader.Reload) {
	m.patched(r)
	measure(m.patchLatency, r.PatchedAt.Sub(r.DecidedAt))
	for _, c := range r.Causes {
		if !c.RequestedAt.IsZero() {
			measure(m.latency, r.PatchedAt.Sub(c.RequestedAt))
		}
	}
}

// ended counts the rollout of a reload, and measures how long it took if it came to its end.
func (m *metrics) ended(r reloader.Reload) {
	m.rollouts.WithLabelValues(string(r.Rollout.Result)).Inc()
	if r.Rollout.Result == reloader.ReasonRolledOut {
		took := r.Rollout.EndedAt.Sub(r.Rollout.StartedAt)
		measure(m.stages.WithLabelValues(stageRollout), took)
		measure(m.rolloutDuration, took)
	}
}
