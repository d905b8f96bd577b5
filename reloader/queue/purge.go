package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// purgeInterval is how often the room that hints take is looked at.
	purgeInterval = 15 * time.Second
	// purgeFrom is the part of the room for hints, as a divisor, from which those that are handled make room for new ones. Until
	// then they stay, since the newest hint about a config tells when it was touched.
	purgeFrom = 2
)

// keepRoom purges handled hints of the cluster whenever hints fill a good part of their room, until ctx ends.
func (c *consumer) keepRoom(ctx context.Context) {
	for pause(ctx, purgeInterval) {
		if err := c.purgeHandled(ctx); err != nil && ctx.Err() == nil {
			c.q.log.Warn("could not make room for hints", "cluster", c.cluster, "error", err)
		}
	}
}

// purgeHandled purges, if hints take a good part of their room, those of the cluster up to the first that is not acknowledged.
func (c *consumer) purgeHandled(ctx context.Context) error {
	ctx, release := c.q.bounded(ctx, answerTime, "$JS.API.STREAM.", "$JS.API.CONSUMER.")
	defer release()
	stream, err := c.q.js.Stream(ctx, hintsStream)
	if err != nil {
		return fmt.Errorf("look at %s: %w", hintsStream, explain(ctx, err))
	}
	info := stream.CachedInfo()
	if info.Config.MaxBytes <= 0 || info.State.Bytes < uint64(info.Config.MaxBytes)/purgeFrom {
		return nil
	}
	consumer, err := stream.Consumer(ctx, consumerName(c.cluster))
	if err != nil {
		return fmt.Errorf("look at the consumer of hints: %w", explain(ctx, err))
	}
	handled := consumer.CachedInfo().AckFloor.Stream
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(c.filter), jetstream.WithPurgeSequence(handled+1)); err != nil {
		return fmt.Errorf("purge handled hints: %w", explain(ctx, err))
	}
	c.q.log.Info("handled hints made room for new ones", "cluster", c.cluster, "up_to", handled)
	return nil
}
