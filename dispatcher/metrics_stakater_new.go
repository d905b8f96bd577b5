package dispatcher

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// Buckets of Stakater Reloader's histograms, in seconds.
var (
	reconcileBuckets = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	actionBuckets    = []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	queueBuckets     = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
)

// newStakaterMetrics registers the metrics. Every series of a closed set is there from the start, so that its first increment is
// seen as one.
func newStakaterMetrics(r prometheus.Registerer, countByNamespace bool) *stakaterMetrics {
	m := &stakaterMetrics{
		executed:   counters("reloader_reload_executed_total", "Tries to roll a workload, by success.", "success"),
		reconciles: counters("reloader_reconcile_total", "Looks at configs, by result.", "result"),
		reconcileSeconds: histograms("reloader_reconcile_duration_seconds",
			"Time for a look at a config, until a change is stored.", reconcileBuckets, "result"),
		actions: counters("reloader_action_total", "Tries to roll a workload, by its kind and result.", "workload_kind", "result"),
		actionSeconds: histograms("reloader_action_latency_seconds",
			"Time from the close of a workload's quiet window to the end of a try to roll it.", actionBuckets, "workload_kind"),
		skips:  counters("reloader_skipped_total", "Hints, looks and decisions that rolled nothing, by reason.", "reason"),
		errors: counters("reloader_errors_total", "Work that failed, by type.", "type"),
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reloader_retries_total", Help: "Work that is tried again.",
		}),
		hints:    counters("reloader_events_received_total", "Hints from the stream, by verb and kind of config.", "event_type", "resource_type"),
		answered: counters("reloader_events_processed_total", "Hints that were acknowledged.", "event_type", "resource_type", "result"),
		compared: counters("reloader_workloads_scanned_total", "Dependent workloads that were decided about for a changed config.", "kind"),
		matched:  counters("reloader_workloads_matched_total", "Such workloads that ask to be reloaded for the config.", "kind"),
		queueDepth: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "reloader_workqueue_depth", Help: "Work that waits for a worker now.",
		}),
		queueAdds: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reloader_workqueue_adds_total", Help: "Work that was given to workers.",
		}),
		queueSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "reloader_workqueue_latency_seconds", Help: "Time that due work waits for a worker.", Buckets: queueBuckets,
		}),
	}
	if countByNamespace {
		m.byNamespace = counters("reloader_reload_executed_total_by_namespace",
			"Tries to roll a workload, by success and namespace.", "success", "namespace")
		r.MustRegister(m.byNamespace)
	}
	r.MustRegister(m.executed, m.reconciles, m.reconcileSeconds, m.actions, m.actionSeconds, m.skips, m.errors, m.retries,
		m.hints, m.answered, m.compared, m.matched, m.queueDepth, m.queueAdds, m.queueSeconds)
	m.begin()
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// begin makes every series of a closed set.
func (m *stakaterMetrics) begin() {
	for _, success := range []string{"true", "false"} {
		m.executed.WithLabelValues(success)
	}
	for _, result := range []string{resultSuccess, resultError, resultSkipped} {
		m.reconciles.WithLabelValues(result)
		m.reconcileSeconds.WithLabelValues(result)
	}
	for _, reason := range []string{skipUnselected, skipUnchanged, skipUnwritten} {
		m.skips.WithLabelValues(reason)
	}
	for _, kind := range []string{errorHandling, errorInvalid} {
		m.errors.WithLabelValues(kind)
	}
	for _, resource := range resourceTypes {
		for _, event := range eventTypes {
			m.hints.WithLabelValues(event, resource)
		}
		m.answered.WithLabelValues(eventUnknown, resource, resultSuccess)
		m.answered.WithLabelValues(eventUnknown, resource, resultDropped)
	}
	for _, k := range workload.Kinds {
		m.actions.WithLabelValues(k.Kind, resultSuccess)
		m.actions.WithLabelValues(k.Kind, resultError)
		m.actionSeconds.WithLabelValues(k.Kind)
		m.compared.WithLabelValues(k.Kind)
		m.matched.WithLabelValues(k.Kind)
	}
}

// stakaterMetrics measure queues, all of them together. What nobody asks for goes to unmeasured.
var _ workqueue.MetricsProvider = (*stakaterMetrics)(nil)

// NewDepthMetric returns the gauge that all queues share.
func (m *stakaterMetrics) NewDepthMetric(string) workqueue.GaugeMetric { return m.queueDepth }

// NewAddsMetric returns the counter that all queues share.
func (m *stakaterMetrics) NewAddsMetric(string) workqueue.CounterMetric { return m.queueAdds }

// NewLatencyMetric returns the histogram that all queues share.
func (m *stakaterMetrics) NewLatencyMetric(string) workqueue.HistogramMetric { return m.queueSeconds }

// NewWorkDurationMetric measures nothing.
func (m *stakaterMetrics) NewWorkDurationMetric(string) workqueue.HistogramMetric {
	return unmeasured{}
}

// NewUnfinishedWorkSecondsMetric measures nothing.
func (m *stakaterMetrics) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return unmeasured{}
}

// NewLongestRunningProcessorSecondsMetric measures nothing.
func (m *stakaterMetrics) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return unmeasured{}
}

// NewRetriesMetric measures nothing: for a queue, waiting for a quiet window is a retry, too.
func (m *stakaterMetrics) NewRetriesMetric(string) workqueue.CounterMetric { return unmeasured{} }

// unmeasured is a metric that nobody sees.
type unmeasured struct{}

// Inc does nothing.
func (unmeasured) Inc() {}

// Set does nothing.
func (unmeasured) Set(float64) {}

// Observe does nothing.
func (unmeasured) Observe(float64) {}
