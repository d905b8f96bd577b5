package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
)

// inspectInterval is how often the streams are inspected.
const inspectInterval = 15 * time.Second

// usage shows how much the streams hold, and how much they may hold.
type usage struct {
	bytes, maxBytes, messages *prometheus.GaugeVec
	store, maxStore           prometheus.Gauge
}

func newUsage() usage {
	perStream := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"stream"})
	}
	whole := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	return usage{
		bytes:    perStream("reroll_queue_stream_bytes", "Bytes stored in the stream, every 15 s."),
		maxBytes: perStream("reroll_queue_stream_max_bytes", "Bytes that the stream may store; +Inf if it has no limit but that of the store."),
		messages: perStream("reroll_queue_stream_messages", "Messages stored in the stream, every 15 s."),
		store:    whole("reroll_queue_store_bytes", "Bytes stored in all streams of the embedded NATS or of the NATS account, every 15 s."),
		maxStore: whole("reroll_queue_store_max_bytes", "Bytes that these streams may store together; +Inf if the NATS account has no limit."),
	}
}

func (u usage) collectors() []prometheus.Collector {
	return []prometheus.Collector{u.bytes, u.maxBytes, u.messages, u.store, u.maxStore}
}

// stream notes what a stream holds.
func (u usage) stream(is *jetstream.StreamInfo) {
	name := is.Config.Name
	u.bytes.WithLabelValues(name).Set(float64(is.State.Bytes))
	u.maxBytes.WithLabelValues(name).Set(atMost(is.Config.MaxBytes))
	u.messages.WithLabelValues(name).Set(float64(is.State.Msgs))
}

// atMost returns a limit as a metric. One that is not positive is none.
func atMost(limit int64) float64 {
	if limit <= 0 {
		return math.Inf(1)
	}
	return float64(limit)
}

// watchStreams inspects the streams that the role looks at until the queue is closed.
func (q *Queue) watchStreams() {
	ctx, leave, err := q.enter(context.Background())
	if err != nil {
		return
	}
	defer leave()
	for {
		if err := q.inspectStreams(ctx); err != nil && ctx.Err() == nil {
			q.log.Debug("could not inspect the streams", "error", err)
		}
		if !pause(ctx, inspectInterval) {
			return
		}
	}
}

// inspectStreams notes how much each stream holds and all of them together, and whether the records of workloads are still there.
func (q *Queue) inspectStreams(ctx context.Context) error {
	errs := []error{q.inspectStore(ctx)}
	for _, want := range q.wantedStreams() {
		if want.Name == workloadsStream {
			errs = append(errs, q.lookAtRecords(ctx))
			continue
		}
		_, err := q.streamInfo(ctx, want.Name)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// streamInfo returns a stream as it is now, and notes how much it holds.
func (q *Queue) streamInfo(ctx context.Context, name string) (*jetstream.StreamInfo, error) {
	ctx, release := q.bounded(ctx, answerTime, "$JS.API.STREAM.INFO.")
	defer release()
	s, err := q.js.Stream(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", name, explain(ctx, err))
	}
	q.metrics.usage.stream(s.CachedInfo())
	return s.CachedInfo(), nil
}

// inspectStore notes how much all streams hold together. The embedded server refuses everything beyond the limit of its store, which is not one of
// the account.
func (q *Queue) inspectStore(ctx context.Context) error {
	if q.embedded != nil {
		is, err := q.embedded.server.Jsz(nil)
		if err != nil {
			return fmt.Errorf("embedded NATS: %w", err)
		}
		q.metrics.usage.store.Set(float64(is.Store))
		q.metrics.usage.maxStore.Set(atMost(is.Config.MaxStore))
		return nil
	}
	ctx, release := q.bounded(ctx, answerTime, "$JS.API.INFO")
	defer release()
	is, err := q.js.AccountInfo(ctx)
	if err != nil {
		return fmt.Errorf("ask NATS for JetStream: %w", explain(ctx, err))
	}
	q.metrics.usage.store.Set(float64(is.Store))
	q.metrics.usage.maxStore.Set(atMost(is.Limits.MaxStore))
	return nil
}
