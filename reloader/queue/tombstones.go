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
	// again when it is created anew with the same content. So are those of a config on which no workload depends any more.
	tombstoneAge = 30 * 24 * time.Hour
	// tombstoneInterval is how often expired tombstones are looked for. A look reads the newest change of each config that has not
	// changed within tombstoneAge.
	tombstoneInterval = time.Hour
	// tombstonesAtOnce bounds how many configs are dropped after one look; the others wait for the next.
	tombstonesAtOnce = 500
)

// tombstone is the place of the newest change of a config that was deleted, or that nothing depends on.
type tombstone struct {
	subject  string
	sequence uint64
}

// graveyard is where tombstones are looked for.
type graveyard struct {
	q      *Queue
	filter string
	// ended reports whether a change that is old and the newest of its config is not needed any more.
	ended func(reloader.Change) bool
}

func isDeletion(c reloader.Change) bool { return c.Type == reloader.ChangeDeleted }

// TidyChanges purges, every now and then, the changes of configs of the cluster that were deleted long ago, or have not changed for long and are
// not needed by anybody, until ctx ends.
func (q *Queue) TidyChanges(ctx context.Context, cluster string, needed func(reloader.Config) bool) error {
	filter, err := clusterFilter(changePrefix, cluster)
	if err != nil {
		return fmt.Errorf("tidy changes: %w", err)
	}
	ctx, leave, err := q.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	g := graveyard{q: q, filter: filter, ended: func(c reloader.Change) bool { return isDeletion(c) || !needed(c.Config) }}
	for pause(ctx, tombstoneInterval) {
		q.tidy(ctx, g, time.Now().Add(-tombstoneAge))
	}
	return ended(ctx)
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
	ended := func(c reloader.Change) bool { return isDeletion(c) && brings[c.Cluster] }
	return &graveyard{q: q, filter: changePrefix + ".>", ended: ended}, nil
}

// tidy purges, and logs what hinders it.
func (q *Queue) tidy(ctx context.Context, g graveyard, before time.Time) {
	if err := g.purge(ctx, before); err != nil && ctx.Err() == nil {
		q.log.Warn("could not drop changes that nobody needs any more", "changes", g.filter, "error", err)
	}
}

// purge purges the changes of configs of which the newest has ended and was stored before the given time. A change that is stored
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
		g.q.log.Info("dropped the changes of configs that were deleted long ago, or that nothing depends on", "changes", g.filter, "configs", len(expired))
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
		if err == nil && g.ended(change) {
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
