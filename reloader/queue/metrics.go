package queue

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics count what this process does, and ask NATS about the rest when they are scraped.
type metrics struct {
	duration             *prometheus.HistogramVec
	unreadable, failures *prometheus.CounterVec
	dropped              prometheus.Counter
}

// newMetrics makes the metrics and registers them, if there is a registerer. A registerer takes those of one queue.
func newMetrics(q *Queue) *metrics {
	stream, to := []string{"stream"}, promauto.With(q.options.Registerer)
	m := &metrics{
		duration: to.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "reroll_queue_publish_duration_seconds",
			Help:    "Time from publishing messages to NATS until they are stored or refused.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},

			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
		}, stream),
		unreadable: to.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_queue_unreadable_total", Help: "Stored messages that could not be read.",
		}, stream),
		failures: to.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_queue_publish_errors_total", Help: "Publications that were not stored completely, because NATS did not answer or refused a message.",
		}, stream),
		dropped: to.NewCounter(prometheus.CounterOpts{
			Name: "reroll_queue_dropped_hints_total", Help: "Hints that can never be stored and were dropped.",
		}),
	}
	for _, s := range q.options.Streams {
		m.unreadable.WithLabelValues(s)
		m.failures.WithLabelValues(s)
	}
	if r := q.options.Registerer; r != nil {
		r.MustRegister(usage{q})
	}
	return m
}

// published counts one publication.
func (m *metrics) published(stream string, begin time.Time, err error) {
	m.duration.WithLabelValues(stream).Observe(time.Since(begin).Seconds())
	if err != nil {
		m.failures.WithLabelValues(stream).Inc()
	}
}

// usage collects what the streams hold and how many hints wait. What NATS does not answer in time is left out.
type usage struct{ q *Queue }

var (
	descBytes    = desc("reroll_queue_stream_bytes", "Bytes stored in the stream.", "stream")
	descMaxBytes = desc("reroll_queue_stream_max_bytes", "Bytes that the stream may store; +Inf if only the store limits it.", "stream")
	descMessages = desc("reroll_queue_stream_messages", "Messages stored in the stream.", "stream")
	descStore    = desc("reroll_queue_store_bytes", "Bytes stored in all streams of the embedded NATS or of the NATS account.")
	descMaxStore = desc("reroll_queue_store_max_bytes", "Bytes that these streams may store together; +Inf without a limit.")
	descPending  = desc("reroll_queue_hints_pending", "Stored hints that were not delivered yet.", "cluster")
	descUnacked  = desc("reroll_queue_hints_unacknowledged", "Hints that were delivered and are not acknowledged yet.", "cluster")
	descAgain    = desc("reroll_queue_hints_redelivered", "Unacknowledged hints that were delivered more than once.", "cluster")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe implements prometheus.Collector. It describes nothing, so that it need not repeat what Collect does.
func (u usage) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (u usage) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(u.q.life, healthTime)
	defer cancel()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for _, name := range u.q.options.Streams {
		s, err := u.q.JS.Stream(ctx, name)
		if err != nil {
			continue
		}
		is := s.CachedInfo()
		gauge(descBytes, float64(is.State.Bytes), name)
		gauge(descMaxBytes, atMost(is.Config.MaxBytes), name)
		gauge(descMessages, float64(is.State.Msgs), name)
		if name == HintsStream {
			u.hints(ctx, s, gauge)
		}
	}
	if stored, limit, err := u.store(ctx); err == nil {
		gauge(descStore, float64(stored))
		gauge(descMaxStore, atMost(limit))
	}
}

// hints collects what waits for each dispatcher.
func (u usage) hints(ctx context.Context, s jetstream.Stream, gauge func(*prometheus.Desc, float64, ...string)) {
	for is := range s.ListConsumers(ctx).Info() {
		cluster := strings.TrimPrefix(is.Name, consumerName(""))
		gauge(descPending, float64(is.NumPending), cluster)
		gauge(descUnacked, float64(is.NumAckPending), cluster)
		gauge(descAgain, float64(is.NumRedelivered), cluster)
	}
}

// store returns what all streams hold together. The limit of an embedded server is that of its store, not of the account.
func (u usage) store(ctx context.Context) (stored uint64, limit int64, err error) {
	if u.q.embedded != nil {
		is, err := u.q.embedded.server.Jsz(nil)
		if err != nil {
			return 0, 0, err
		}
		return is.Store, is.Config.MaxStore, nil
	}
	is, err := u.q.JS.AccountInfo(ctx)
	if err != nil {
		return 0, 0, err
	}
	return is.Store, is.Limits.MaxStore, nil
}

// atMost returns a limit as a metric. One that is not positive is none.
func atMost(limit int64) float64 {
	if limit <= 0 {
		return math.Inf(1)
	}
	return float64(limit)
}
