package queue

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// waiting shows what waits for the consumer of hints, while this process is it.
type waiting struct {
	pending, loaned, redelivered prometheus.Gauge
}

func newWaiting() waiting {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	return waiting{
		pending:     gauge("reroll_queue_hints_pending", "Hints that are stored and were not taken yet, every 15 s."),
		loaned:      gauge("reroll_queue_hints_unacknowledged", "Hints that were taken and are not done yet, every 15 s."),
		redelivered: gauge("reroll_queue_hints_redelivered", "Those among them that were taken more than once, every 15 s."),
	}
}

func (w waiting) set(pending, loaned, redelivered float64) {
	w.pending.Set(pending)
	w.loaned.Set(loaned)
	w.redelivered.Set(redelivered)
}

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
	c.q.metrics.waiting.set(float64(is.NumPending), float64(is.NumAckPending), float64(is.NumRedelivered))
	return nil
}
