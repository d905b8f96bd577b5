// Package metrics has the Prometheus metrics of the dispatcher, with those of Stakater Reloader that dashboards use.
//
// It takes plain values: methods count and measure what happens, and a Snapshot function answers at each scrape how many workloads are in each
// state. Labels come from closed sets. Names of objects are never labels, except for the namespace if CountByNamespace asks for it. Every series
// of a closed set exists from the start, so that its first increment is visible.
package metrics

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/reroll-dev/reroll/reloader"
)

// Options configure Metrics. All fields but CountByNamespace are required.
type Options struct {
	Registerer prometheus.Registerer
	// Snapshot returns the state of the workloads at a time. Scrapes call it.
	Snapshot func(now time.Time) Snapshot
	// SweepInterval is the interval between full resyncs; 0 is at the start only.
	SweepInterval time.Duration
	// CountByNamespace adds the counter of reloads by namespace.
	CountByNamespace bool
}

// Result is what became of a hint.
type Result string

const (
	// Verified is a hint whose config was read.
	Verified Result = "verified"
	// Unneeded is a hint about a config that no workload depends on.
	Unneeded Result = "nobody_depends"
	// Kept is a hint that waits in memory, since its config cannot be read.
	Kept Result = "kept"
)

// Part is what was read of a config.
type Part string

const (
	// Metadata is a read of the metadata alone.
	Metadata Part = "metadata"
	// Content is a read of the whole config.
	Content Part = "content"
)

// Attempt is what became of an attempt to patch a workload, or to call a webhook for it.
type Attempt string

const (
	// Done is an attempt that succeeded.
	Done Attempt = "done"
	// Gone is an attempt at a workload that does not exist any more.
	Gone Attempt = "gone"
	// Outdated is an attempt at a workload that has changed since it was read.
	Outdated Attempt = "outdated"
	// Refused is an attempt that fails until something is changed.
	Refused Attempt = "refused"
	// Failed is an attempt that may succeed later.
	Failed Attempt = "failed"
)

// Metrics counts and measures. Its methods are safe for concurrent use.
type Metrics struct {
	hints, changes, decided, reads, held, attempts, rollouts *prometheus.CounterVec
	called                                                   *prometheus.CounterVec
	times                                                    times
	sweeps                                                   sweeps
	// executed is a metric of Stakater Reloader that dashboards use, as is byNamespace, which is nil unless reloads are counted for each namespace.
	executed, byNamespace *prometheus.CounterVec
}

// sweeps are the metrics of full resyncs. They are values of their own, since the status of the cluster shows them too.
type sweeps struct {
	// drift counts changes that no hint reported, and at is when every config had been looked at, in ns since 1970.
	drift, at atomic.Int64
	took      prometheus.Histogram
}

// New registers the metrics.
func New(o Options) *Metrics {
	register := promauto.With(o.Registerer)
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return register.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		hints:   counters("reroll_hints_total", "Hints taken from the stream, by what became of them.", "result"),
		changes: counters("reroll_changes_total", "Verified changes of configs, by type and source.", "type", "source"),
		decided: counters("reroll_reloads_total", "Decisions about workloads whose config changed, by outcome.", "outcome"),
		reads:   counters("reroll_config_reads_total", "Reads of configs from the API server, by what was read.", "part"),
		held: counters("reroll_holds_total",
			"How often a workload that was due began to be held back, by what held it back.", "reason"),
		attempts: counters("reroll_reload_attempts_total",
			"Attempts to patch a workload, or to call a webhook for it, by what came of them.", "result"),
		called: counters("reroll_hot_reload_calls_total",
			"Pods that were asked to reload without a restart, by what came of it.", "result"),
		rollouts: counters("reroll_rollouts_total",
			"Results of rollouts after a reload. One that waits for an operator, or has stalled, may still roll out, and counts again then.", "result"),
		executed: counters("reloader_reload_executed_total", "Attempts to roll a workload, by success.", "success"),
	}
	m.times = newTimes(register)
	o.Registerer.MustRegister(newWorkloads(o.Snapshot))
	if o.CountByNamespace {
		m.byNamespace = counters("reloader_reload_executed_total_by_namespace", "Attempts to roll a workload, by success and namespace.", "success", "namespace")
	}
	m.sweeps.took = newSweepTimes(register)
	register.NewCounterFunc(prometheus.CounterOpts{
		Name: "reroll_sweep_drift_total", Help: "Changes that a resync found and no hint reported within five minutes.",
	}, func() float64 { return float64(m.Drift()) })
	register.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "reroll_sweep_completed_timestamp_seconds", Help: "When every config was last looked at; 0 until the sweep at the start has ended, and for good without others.",
	}, func() float64 { return float64(m.sweeps.at.Load()) / 1e9 })
	register.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "reroll_sweep_interval_seconds", Help: "Interval between resyncs, resyncInterval; 0 means at the start only.",
	}, o.SweepInterval.Seconds)
	m.begin()
	return m
}

// begin makes every series of a closed set.
func (m *Metrics) begin() {
	for _, result := range []Result{Verified, Unneeded, Kept} {
		m.hints.WithLabelValues(string(result))
	}
	for _, part := range []Part{Metadata, Content} {
		m.reads.WithLabelValues(string(part))
	}
	for _, result := range []Attempt{Done, Gone, Outdated, Refused, Failed} {
		m.attempts.WithLabelValues(string(result))
	}
	for success, result := range resultOf {
		m.called.WithLabelValues(result)
		m.executed.WithLabelValues(strconv.FormatBool(success))
	}
	for _, result := range reloader.RolloutResults {
		m.rollouts.WithLabelValues(string(result))
	}
	for _, reason := range reloader.HoldReasons {
		m.held.WithLabelValues(string(reason))
	}
	for _, i := range reloader.Reasons {
		m.decided.WithLabelValues(string(i.Reason))
	}
	for _, i := range reloader.Sources {
		for _, changeType := range []reloader.ChangeType{reloader.ChangeBaseline, reloader.ChangeUpdated, reloader.ChangeCreated, reloader.ChangeDeleted} {
			m.changes.WithLabelValues(string(changeType), string(i.Source))
		}
	}
}

// Hint counts a hint that is done with.
func (m *Metrics) Hint(result Result) { m.hints.WithLabelValues(string(result)).Inc() }

// Read counts a read of a config.
func (m *Metrics) Read(part Part) { m.reads.WithLabelValues(string(part)).Inc() }

// Change counts a verified change.
func (m *Metrics) Change(changeType reloader.ChangeType, source reloader.Source) {
	m.changes.WithLabelValues(string(changeType), string(source)).Inc()
}

// Decided counts a decision about a workload.
func (m *Metrics) Decided(outcome reloader.Reason) { m.decided.WithLabelValues(string(outcome)).Inc() }

// Held counts the beginning of a hold.
func (m *Metrics) Held(reason reloader.Reason) { m.held.WithLabelValues(string(reason)).Inc() }

// Attempted counts an attempt to patch a workload or to call a webhook.
func (m *Metrics) Attempted(result Attempt) { m.attempts.WithLabelValues(string(result)).Inc() }

// resultOf is the result of a call to a pod, by whether it succeeded.
var resultOf = map[bool]string{true: "answered", false: "failed"}

// Called counts a pod that was asked to reload.
func (m *Metrics) Called(success bool) { m.called.WithLabelValues(resultOf[success]).Inc() }

// Rolled counts a roll that succeeded or failed, as Stakater Reloader does.
func (m *Metrics) Rolled(namespace string, success bool) {
	m.executed.WithLabelValues(strconv.FormatBool(success)).Inc()
	if m.byNamespace != nil {
		m.byNamespace.WithLabelValues(strconv.FormatBool(success), namespace).Inc()
	}
}

// Drifted counts a change that a sweep found and no hint reported.
func (m *Metrics) Drifted() { m.sweeps.drift.Add(1) }

// Drift returns the number of changes that Drifted counted.
func (m *Metrics) Drift() int64 { return m.sweeps.drift.Load() }

// Swept notes when every config had been looked at.
func (m *Metrics) Swept(at time.Time) { m.sweeps.at.Store(at.UnixNano()) }

// SweptAt returns when every config had last been looked at; zero if that has not happened.
func (m *Metrics) SweptAt() time.Time {
	if at := m.sweeps.at.Load(); at != 0 {
		return time.Unix(0, at).UTC()
	}
	return time.Time{}
}

// SweepTook measures a full resync.
func (m *Metrics) SweepTook(took time.Duration) { m.sweeps.took.Observe(took.Seconds()) }
