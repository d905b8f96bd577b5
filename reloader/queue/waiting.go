package queue

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// waiting shows what waits for the consumer of hints, while this process is it.
type waiting struct {
	pending, loaned, redelivered prometheus.Gauge
	// open counts those that are not done.
	open *atomic.Int64
}

func newWaiting() waiting {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	return waiting{
		open:        new(atomic.Int64),
		pending:     gauge("reroll_queue_hints_pending", "Hints that are stored and were not taken yet, every 15 s."),
		loaned:      gauge("reroll_queue_hints_unacknowledged", "Hints that were taken and are not done yet, every 15 s."),
		redelivered: gauge("reroll_queue_hints_redelivered", "Those among them that were taken more than once, every 15 s."),
	}
}

func (w waiting) set(pending, loaned, redelivered int64) {
	w.pending.Set(float64(pending))
	w.loaned.Set(float64(loaned))
	w.redelivered.Set(float64(redelivered))
	w.open.Store(pending + loaned)
}

// HintsPending returns how many hints were stored and not done yet when that was last looked at, at most some 15 s before; 0 for whoever does not
// consume them.
func (q *Queue) HintsPending() int64 { return q.metrics.waiting.open.Load() }

// measure looks again and again at what waits, until ctx ends. Nothing waits for whoever does not consume.
func (c *consumer) measure(ctx context.Context) {
	defer c.q.metrics.waiting.set(0, 0, 0)
	for {
		if err := c.measureOnce(ctx); err != nil && ctx.Err() == nil {
			c.q.log.Debug("could not look at what waits", "cluster", c.cluster, "error", err)
		}
		if !pause(ctx, purgeInterval) {
			return
		}
	}
}

func (c *consumer) measureOnce(ctx context.Context) error {
	ctx, release := c.q.bounded(ctx, answerTime, "$JS.API.CONSUMER.")
	defer release()
	on, err := c.q.js.Consumer(ctx, hintsStream, consumerName(c.cluster))
	if err != nil {
		return fmt.Errorf("look at the consumer of hints: %w", explain(ctx, err))
	}
	is := on.CachedInfo()
	c.q.metrics.waiting.set(int64(is.NumPending), int64(is.NumAckPending), int64(is.NumRedelivered))
	return nil
}
