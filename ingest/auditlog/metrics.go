package auditlog

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/ingest/audit"
)

// resultHint is the result of an event that became a hint; all other results are of type audit.Skip.
const resultHint = "Hint"

// metrics are the Tail's own.
type metrics struct {
	events      *prometheus.CounterVec
	longLines   prometheus.Counter
	rotations   prometheus.Counter
	truncations prometheus.Counter
	putFailures prometheus.Counter
	unread      prometheus.Gauge
}

// newMetrics registers the metrics, with a zero for every label value that can occur.
func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_auditlog_events_total",
			Help: "Audit events read from the log file and stored, by what became of them: Hint, or why they became none.",
		}, []string{"result"}),
		longLines: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reroll_auditlog_long_lines_total", Help: "Lines of the log file that were too long and skipped.",
		}),
		rotations: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reroll_auditlog_rotations_total", Help: "Log files that were read to their end and followed by another.",
		}),
		truncations: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reroll_auditlog_truncations_total", Help: "Times the log file was truncated and no copy found: what was not read is lost.",
		}),
		putFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reroll_auditlog_put_failures_total", Help: "Times that storing hints of the log file failed and was tried again.",
		}),
		unread: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "reroll_auditlog_unread_bytes", Help: "How much of the file that is being read is not stored yet.",
		}),
	}
	for _, c := range []prometheus.Collector{m.events, m.longLines, m.rotations, m.truncations, m.putFailures, m.unread} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	m.events.WithLabelValues(resultHint)
	for _, skip := range audit.Skips {
		m.events.WithLabelValues(string(skip))
	}
	return m, nil
}

// stored counts what a stored batch held.
func (m *metrics) stored(r audit.Result) {
	m.events.WithLabelValues(resultHint).Add(float64(len(r.Hints)))
	for skip, n := range r.Skipped {
		m.events.WithLabelValues(string(skip)).Add(float64(n))
	}
}
