package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// tombstoneAge is how long the changes of a config that was deleted are kept after its deletion was stored: long enough to know it
	// again when it is created anew with the same content.
	tombstoneAge = 30 * 24 * time.Hour
	// tombstoneInterval is how often expired tombstones are looked for. A look reads the newest change of each config that has not
	// changed within tombstoneAge.
	tombstoneInterval = time.Hour
	// tombstonesAtOnce bounds how many configs are dropped after one look; the others wait for the next.
	tombstonesAtOnce = 500
)

// tombstone is the place of the newest change of a config, which says that it was deleted.
type tombstone struct {
	subject  string
	sequence uint64
}

// dropTombstones purges, every now and then, the changes of configs of the cluster that were deleted long ago, until ctx ends.
func (c *consumer) dropTombstones(ctx context.Context) {
	for pause(ctx, tombstoneInterval) {
		if err := c.purgeTombstones(ctx, time.Now().Add(-tombstoneAge)); err != nil && ctx.Err() == nil {
			c.q.log.Warn("could not drop the changes of deleted configs", "cluster", c.cluster, "error", err)
		}
	}
}

// purgeTombstones purges the changes of configs whose newest change is a tombstone that was stored before the given time. A change that
// is stored meanwhile stays, since only what is not newer than the tombstone goes.
func (c *consumer) purgeTombstones(ctx context.Context, before time.Time) error {
	expired, err := c.expiredTombstones(ctx, before)
	if err != nil {
		return err
	}
	for _, t := range expired {
		if err := c.purgeUpTo(ctx, t); err != nil {
			return err
		}
	}
	if len(expired) > 0 {
		c.q.log.Info("dropped the changes of configs that were deleted long ago", "cluster", c.cluster, "configs", len(expired))
	}
	return nil
}

// expiredTombstones returns the first of the tombstones that were stored before the given time.
func (c *consumer) expiredTombstones(ctx context.Context, before time.Time) ([]tombstone, error) {
	filter, err := clusterFilter(changePrefix, c.cluster)
	if err != nil {
		return nil, err
	}
	var expired []tombstone
	err = c.q.snapshot(ctx, changesStream, filter, func(msg jetstream.Msg, sequence uint64) error {
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		if !meta.Timestamp.Before(before) || len(expired) == tombstonesAtOnce {
			return errAllRead // The newest changes come in the order in which they were stored.
		}
		// What cannot be read is no tombstone as far as this version knows.
		if change, err := reloader.Decode[reloader.Change](msg.Data()); err == nil && change.Type == reloader.ChangeDeleted {
			expired = append(expired, tombstone{msg.Subject(), sequence})
		}
		return nil
	})
	return expired, err
}

// purgeUpTo purges the config's changes up to the tombstone, unless there is a newer one.
func (c *consumer) purgeUpTo(ctx context.Context, t tombstone) error {
	newest, err := c.q.last(ctx, changesStream, t.subject)
	if err != nil || newest == nil || newest.Sequence != t.sequence {
		return wrap(err, "look at the tombstone on %s", t.subject)
	}
	ctx, release := c.q.bounded(ctx, answerTime, "$JS.API.STREAM.PURGE."+changesStream)
	defer release()
	err = c.q.streams[changesStream].Purge(ctx, jetstream.WithPurgeSubject(t.subject), jetstream.WithPurgeSequence(t.sequence+1))
	if err != nil {
		return fmt.Errorf("purge %s: %w", t.subject, explain(ctx, err))
	}
	return nil
}
