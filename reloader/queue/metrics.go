package queue

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	duration   *prometheus.HistogramVec
	messages   *prometheus.HistogramVec
	unreadable *prometheus.CounterVec
	failures   *prometheus.CounterVec
	repeated   *prometheus.CounterVec
	dropped    prometheus.Counter
	waiting    waiting
	usage      usage
}

// newMetrics makes the metrics and registers them with r, if there is one.
func newMetrics(r prometheus.Registerer) (*metrics, error) {
	stream := []string{"stream"}
	m := &metrics{
		waiting: newWaiting(),
		usage:   newUsage(),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "reroll_queue_publish_duration_seconds",
			Help:    "Time from handing a batch to NATS until it is stored, or refused.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},

			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
		}, stream),
		messages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "reroll_queue_batch_messages",
			Help:    "Messages that were stored together.",
			Buckets: []float64{1, 2, 5, 10, 20, 50, 100, 200, 400, 1000},
		}, stream),
		unreadable: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_queue_unreadable_total",
			Help: "Stored messages that could not be read.",
		}, stream),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_queue_publish_errors_total",
			Help: "Batches that were not stored completely, because NATS did not answer or refused a message.",
		}, stream),
		repeated: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_queue_repeated_total",
			Help: "Messages that were stored once although they were in a batch more often.",
		}, stream),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reroll_queue_dropped_hints_total",
			Help: "Hints that can never be stored and were dropped.",
		}),
	}
	for _, s := range []string{hintsStream, changesStream, reloadsStream, workloadsStream} {
		m.unreadable.WithLabelValues(s)
		m.failures.WithLabelValues(s)
		m.repeated.WithLabelValues(s)
	}
	return m, m.register(r)
}

func (m *metrics) all() []prometheus.Collector {
	return append([]prometheus.Collector{
		m.duration, m.messages, m.unreadable, m.failures, m.repeated, m.dropped, m.waiting.pending, m.waiting.loaned, m.waiting.redelivered,
	}, m.usage.collectors()...)
}

func (m *metrics) register(r prometheus.Registerer) error {
	if r == nil {
		return nil
	}
	for i, c := range m.all() {
		if err := r.Register(c); err != nil {
			for _, registered := range m.all()[:i] {
				r.Unregister(registered)
			}
			return fmt.Errorf("queue metrics: %w", err)
		}
	}
	return nil
}

// unregister takes the metrics back, so that the queue can be opened again.
func (m *metrics) unregister(r prometheus.Registerer) {
	if r == nil {
		return
	}
	for _, c := range m.all() {
		r.Unregister(c)
	}
}
