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

// graveyard is where tombstones are looked for.
type graveyard struct {
	q      *Queue
	filter string
	// buries reports whether tombstones of a cluster are dropped from here; nil if those of all that match are.
	buries func(cluster string) bool
}

// dropTombstones purges, every now and then, the changes of configs of the cluster that were deleted long ago, until ctx ends.
func (c *consumer) dropTombstones(ctx context.Context) {
	filter, err := clusterFilter(changePrefix, c.cluster)
	if err != nil {
		return // nothing is consumed for such a cluster
	}
	for pause(ctx, tombstoneInterval) {
		c.q.tidy(ctx, graveyard{q: c.q, filter: filter}, time.Now().Add(-tombstoneAge))
	}
}

// TidyHub purges, every now and then, the changes of configs that were deleted long ago in clusters which bring their records here, until ctx
// ends. The changes of others are left to their dispatchers.
func (q *Queue) TidyHub(ctx context.Context) error {
	ctx, leave, err := q.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for pause(ctx, tombstoneInterval) {
		g, err := q.hubGraveyard(ctx)
		if err != nil {
			q.log.Warn("could not look for clusters that bring their records here", "error", err)
			continue
		}
		if g != nil {
			q.tidy(ctx, *g, time.Now().Add(-tombstoneAge))
		}
	}
	return ended(ctx)
}

// hubGraveyard returns that of the clusters that bring their records here; nil if there is none.
func (q *Queue) hubGraveyard(ctx context.Context) (*graveyard, error) {
	brings := map[string]bool{}
	err := q.snapshot(ctx, clustersStream, anyClusterStatus, func(msg jetstream.Msg, _ uint64) error {
		if s, err := reloader.Decode[reloader.ClusterStatus](msg.Data()); err == nil && s.Forward != nil && statusSubject(s.Cluster) == msg.Subject() {
			brings[s.Cluster] = true
		}
		return nil
	})
	if err != nil || len(brings) == 0 {
		return nil, err
	}
	return &graveyard{q: q, filter: changePrefix + ".>", buries: func(cluster string) bool { return brings[cluster] }}, nil
}

// tidy purges, and logs what hinders it.
func (q *Queue) tidy(ctx context.Context, g graveyard, before time.Time) {
	if err := g.purge(ctx, before); err != nil && ctx.Err() == nil {
		q.log.Warn("could not drop the changes of deleted configs", "changes", g.filter, "error", err)
	}
}

// purge purges the changes of configs whose newest change is a tombstone that was stored before the given time. A change that is stored
// meanwhile stays, since only what is not newer than the tombstone goes.
func (g graveyard) purge(ctx context.Context, before time.Time) error {
	expired, err := g.expired(ctx, before)
	if err != nil {
		return err
	}
	for _, t := range expired {
		if err := g.purgeUpTo(ctx, t); err != nil {
			return err
		}
	}
	if len(expired) > 0 {
		g.q.log.Info("dropped the changes of configs that were deleted long ago", "changes", g.filter, "configs", len(expired))
	}
	return nil
}

// expired returns the first of the tombstones that were stored before the given time.
func (g graveyard) expired(ctx context.Context, before time.Time) ([]tombstone, error) {
	var expired []tombstone
	err := g.q.snapshot(ctx, changesStream, g.filter, func(msg jetstream.Msg, sequence uint64) error {
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		if !meta.Timestamp.Before(before) || len(expired) == tombstonesAtOnce {
			return errAllRead // The newest changes come in the order in which they were stored.
		}
		// What cannot be read is no tombstone as far as this version knows.
		change, err := reloader.Decode[reloader.Change](msg.Data())
		if err == nil && change.Type == reloader.ChangeDeleted && (g.buries == nil || g.buries(change.Cluster)) {
			expired = append(expired, tombstone{msg.Subject(), sequence})
		}
		return nil
	})
	return expired, err
}

// purgeUpTo purges the config's changes up to the tombstone, unless there is a newer one.
func (g graveyard) purgeUpTo(ctx context.Context, t tombstone) error {
	newest, err := g.q.last(ctx, changesStream, t.subject)
	if err != nil || newest == nil || newest.Sequence != t.sequence {
		return wrap(err, "look at the tombstone on %s", t.subject)
	}
	ctx, release := g.q.bounded(ctx, answerTime, "$JS.API.STREAM.PURGE."+changesStream)
	defer release()
	err = g.q.streams[changesStream].Purge(ctx, jetstream.WithPurgeSubject(t.subject), jetstream.WithPurgeSequence(t.sequence+1))
	if err != nil {
		return fmt.Errorf("purge %s: %w", t.subject, explain(ctx, err))
	}
	return nil
}
