package webhook

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/ingest/audit"
)

// resultHint is the result of an event that became a hint; all other results are of type audit.Skip.
const resultHint = "Hint"

// answers lists every status with which the server answers.
var answers = []int{
	http.StatusOK, http.StatusNoContent, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
	http.StatusMethodNotAllowed, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
	http.StatusInternalServerError, http.StatusServiceUnavailable,
}

// metrics are the server's own.
type metrics struct {
	requests    *prometheus.CounterVec
	events      *prometheus.CounterVec
	hints       prometheus.Counter
	inFlight    prometheus.Gauge
	putDuration prometheus.Histogram
	bodyBytes   prometheus.Histogram
	badFiles    *prometheus.CounterVec
}

// newMetrics registers the metrics, with a zero for every label value that can occur.
func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_ingest_requests_total",
			Help: "Requests to the audit webhook and with shipped audit logs, by the status they were answered with.",
		}, []string{"code"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_ingest_events_total",
			Help: "Audit events in accepted requests, by what became of them: Hint, or why they became none.",
		}, []string{"result"}),
		hints: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reroll_ingest_hints_total",
			Help: "Hints that the audit webhook and shipped audit logs have brought and that are stored.",
		}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "reroll_ingest_requests_in_flight",
			Help: "Requests whose body is being read or stored.",
		}),
		putDuration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "reroll_ingest_put_duration_seconds",
			Help:    "Time to store the hints of a request, also where that failed.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
		bodyBytes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "reroll_ingest_body_bytes",
			Help: "Length of the bodies that were read.", Buckets: prometheus.ExponentialBuckets(1<<10, 4, 9),
		}),
		badFiles: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_ingest_file_errors_total",
			Help: "Changed certificate, CA and token files that could not be used.",
		}, []string{"file"}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.events, m.hints, m.inFlight, m.putDuration, m.bodyBytes, m.badFiles} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	for _, code := range answers {
		m.requests.WithLabelValues(strconv.Itoa(code))
	}
	m.events.WithLabelValues(resultHint)
	for _, skip := range audit.Skips {
		m.events.WithLabelValues(string(skip))
	}
	for _, file := range []string{fileCertificate, fileClientCA, fileTokens} {
		m.badFiles.WithLabelValues(file)
	}
	return m, nil
}

// accepted counts what a stored body held.
func (m *metrics) accepted(r audit.Result) {
	m.events.WithLabelValues(resultHint).Add(float64(len(r.Hints)))
	for skip, n := range r.Skipped {
		m.events.WithLabelValues(string(skip)).Add(float64(n))
	}
	m.hints.Add(float64(len(r.Hints)))
}
