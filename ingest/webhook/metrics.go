package webhook

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/reroll-dev/reroll/ingest/audit"
)

// resultHint is the result of an event that became a hint; all other results are of type audit.Skip.
const resultHint = "Hint"

// answers lists every status of the server's answers.
var answers = []int{
	http.StatusOK, http.StatusNoContent, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
	http.StatusMethodNotAllowed, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
	http.StatusInternalServerError, http.StatusServiceUnavailable,
}

// metrics are the server's own. The label cluster is that of the sender of a request; it is empty for strangers.
type metrics struct {
	requests    *prometheus.CounterVec
	events      *prometheus.CounterVec
	hints       *prometheus.CounterVec
	inFlight    prometheus.Gauge
	putDuration prometheus.Histogram
	duration    *prometheus.HistogramVec
	age         *prometheus.HistogramVec
	lastEvent   *prometheus.GaugeVec
	bodyBytes   prometheus.Histogram

	mu sync.Mutex
	// clusters are those that have series.
	clusters map[string]bool
}

// newMetrics registers the metrics, with a zero for every label value that can occur, and for the clusters that are the only ones to be served.
func newMetrics(o Options) *metrics {
	to := promauto.With(o.Registerer)
	m := &metrics{
		requests: to.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_ingest_requests_total",
			Help: "Requests to the ingest server, by the status they were answered with.",
		}, []string{"cluster", "code"}),
		events: to.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_ingest_events_total",
			Help: "Audit events in accepted requests, by what became of them: Hint, or why they became none.",
		}, []string{"cluster", "result"}),
		hints: to.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_ingest_hints_total",
			Help: "Hints of requests to the ingest server that are stored.",
		}, []string{"cluster"}),
		inFlight: to.NewGauge(prometheus.GaugeOpts{
			Name: "reroll_ingest_requests_in_flight",
			Help: "Requests whose body is being read or stored.",
		}),
		putDuration: to.NewHistogram(latency("reroll_ingest_put_duration_seconds", "Time to store the hints of a request, also where that failed.")),
		duration: to.NewHistogramVec(latency("reroll_ingest_request_duration_seconds",
			"Time from the head of a request until its answer, however that was."), []string{"cluster"}),
		age: to.NewHistogramVec(latency("reroll_ingest_event_age_seconds",
			"Age of the hints in a body when it came, since their requests ended: how long their sender had them."), []string{"cluster", "source"}),
		lastEvent: to.NewGaugeVec(prometheus.GaugeOpts{
			Name: "reroll_ingest_last_event_timestamp_seconds",
			Help: "When a body with audit events was last taken; 0 if none has been.",
		}, []string{"cluster"}),
		bodyBytes: to.NewHistogram(prometheus.HistogramOpts{
			Name: "reroll_ingest_body_bytes",
			Help: "Length of the bodies that were read.", Buckets: prometheus.ExponentialBuckets(1<<10, 4, 9),
		}),
		clusters: map[string]bool{},
	}
	for _, code := range answers {
		m.requests.WithLabelValues("", strconv.Itoa(code))
	}
	m.duration.WithLabelValues("")
	for _, cluster := range o.Clusters {
		m.label(cluster)
	}
	return m
}

// latency describes a histogram of how long something here takes.
func latency(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help,
		Buckets:                         []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 120},
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  160,
		NativeHistogramMinResetDuration: time.Hour,
	}
}

// answered counts and times an answer to anyone who speaks for a cluster.
func (m *metrics) answered(cluster string, code int, took time.Duration) {
	cluster = m.label(cluster)
	m.requests.WithLabelValues(cluster, strconv.Itoa(code)).Inc()
	m.duration.WithLabelValues(cluster).Observe(took.Seconds())
}

// accepted counts what a stored body of a cluster held that came at a time.
func (m *metrics) accepted(cluster string, r audit.Result, came time.Time) {
	cluster = m.label(cluster)
	m.lastEvent.WithLabelValues(cluster).Set(float64(came.UnixMilli()) / 1000)
	for _, h := range r.Hints {
		if !h.Time.IsZero() {
			// The clock of the API server may be ahead of ours.
			m.age.WithLabelValues(cluster, string(h.Source)).Observe(max(0, h.Received.Sub(h.Time)).Seconds())
		}
	}
	m.events.WithLabelValues(cluster, resultHint).Add(float64(len(r.Hints)))
	for skip, n := range r.Skipped {
		m.events.WithLabelValues(cluster, string(skip)).Add(float64(n))
	}
	m.hints.WithLabelValues(cluster).Add(float64(len(r.Hints)))
}

// maxClusters bounds the values of the label cluster: over plain HTTP any name is believed.
const maxClusters = 256

// label returns what metrics call a cluster for which a sender speaks: its name, or nothing if that is empty or there are too many. At the first
// sight of a name its series begin, with a zero for every other label value.
func (m *metrics) label(cluster string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case cluster == "" || m.clusters[cluster]:
		return cluster
	case len(m.clusters) == maxClusters:
		return ""
	}
	m.clusters[cluster] = true
	for _, code := range answers {
		m.requests.WithLabelValues(cluster, strconv.Itoa(code))
	}
	for _, skip := range append([]audit.Skip{resultHint}, audit.Skips...) {
		m.events.WithLabelValues(cluster, string(skip))
	}
	for _, to := range routes {
		m.age.WithLabelValues(cluster, string(to.source))
	}
	m.hints.WithLabelValues(cluster)
	m.duration.WithLabelValues(cluster)
	m.lastEvent.WithLabelValues(cluster)
	return cluster
}
