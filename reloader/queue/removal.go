package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// ErrAlive means that a cluster which was to be removed from a hub told the hub something meanwhile.
var ErrAlive = errors.New("the cluster is alive")

// Removal says which cluster a hub is to forget.
type Removal struct {
	// Cluster is its name.
	Cluster string
	// Silence is how long the cluster must not have told the hub anything; what is left of that is waited for. With 0 one that is alive is
	// removed as well, and comes back as a new one if it still may.
	Silence time.Duration
	// Sure is told what there is before anything is removed, and keeps it from being removed by an error; nil is sure.
	Sure func(Holdings) error
}

// Holdings are what a hub has of a cluster.
type Holdings struct {
	// UID is that of the cluster which the name stands for; empty if it stands for none.
	UID string
	// Told is the place of the cluster's last word about itself in its stream, and Silent how long ago it was stored, by the hub's clock. Both
	// are 0 if there is none.
	Told   uint64
	Silent time.Duration
	// Messages is how many there are of each kind, by the words in which it is spoken of; kinds of which there are none are left out.
	Messages map[string]uint64
	// bound is where the name was bound to the UID.
	bound uint64
}

// None reports whether the hub has nothing of the cluster.
func (h Holdings) None() bool { return h.UID == "" && h.Told == 0 && len(h.Messages) == 0 }

// HeldKinds are the keys of Holdings.Messages, in the order in which they are removed.
var HeldKinds = []string{"changes", "reloads", "records of workloads", "copies of configs and what asks for them"}

// held is a part of what a hub has of a cluster: all of a stream that matches one of the filters.
type held struct {
	what, stream string
	filters      []string
}

// heldOf returns the parts for a cluster, one for each of HeldKinds.
func heldOf(cluster string) []held {
	token := escape(cluster)
	return []held{
		{HeldKinds[0], changesStream, []string{changePrefix + "." + token + ".>"}},
		{HeldKinds[1], reloadsStream, []string{reloadPrefix + "." + token + ".>"}},
		{HeldKinds[2], workloadsStream, []string{workloadPrefix + "." + token + ".>"}},
		{HeldKinds[3], followsStream, []string{
			followPrefix + "." + token + ".>", followPrefix + ".*." + token + ".>", wantPrefix + "." + token + ".*", wantPrefix + ".*." + token,
		}},
	}
}

// RemoveFromHub has a hub, or the store folder of a cluster that does not run, forget a cluster: all records up to that moment, of which those who follow the hub are told, what it told other clusters
// and they told it, and last the name, which is free for any cluster then. It returns a step for each, and none if there is
// nothing. It may be called again after any failure, and then removes what is left. What o lacks of permissions is an error that wraps
// ErrDenied; RoleHubAdmin has them. In a store folder that is for the names which the cluster had before: the one that it has now is refused with
// ErrAlive, and a folder that is in use with ErrLocked.
func RemoveFromHub(ctx context.Context, o Options, r Removal) ([]Step, error) {
	o, err := o.withDefaults()
	if err == nil {
		err = reloader.ValidateCluster(r.Cluster)
	}
	if err == nil && o.URL == "" {
		err = isStore(o.StoreDir)
	}
	if err != nil {
		return nil, fmt.Errorf("remove a cluster: %w", err)
	}
	q := newQueue(o)
	steps, err := q.removeFromHub(ctx, o, r)
	return steps, errors.Join(wrap(err, "remove %s from the hub", r.Cluster), q.giveUp(ctx))
}

func (q *Queue) removeFromHub(ctx context.Context, o Options, r Removal) ([]Step, error) {
	if o.URL == "" {
		var err error
		if q.embedded, err = startEmbedded(o); err != nil {
			return nil, err
		}
		q.onEnd(q.embedded.stop)
	}
	if err := q.connect(o); err != nil {
		return nil, err
	}
	q.onEnd(q.drain)
	examined, release := q.bounded(ctx, answerTime, "$JS.")
	err := q.examine(examined, o)
	release()
	if err != nil {
		return nil, err
	}
	has, err := q.holdings(ctx, r.Cluster)
	if err != nil || has.None() {
		return nil, err
	}
	if err := q.notNewest(ctx, has); err != nil {
		return nil, err
	}
	if r.Sure != nil {
		if err := r.Sure(has); err != nil {
			return nil, err
		}
	}
	if err := q.awaitSilence(ctx, r, has); err != nil {
		return nil, err
	}
	return q.removeCluster(ctx, r.Cluster, has.bound)
}

// isStore fails unless there are the files of an embedded server in a folder.
func isStore(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, lockName)); err != nil {
		return fmt.Errorf("there is no store in %q: %w", dir, err)
	}
	return nil
}

// notNewest fails with ErrAlive if a store of our own heard of nobody later than of that cluster: it has its name now, and without what it
// remembers it would miss changes.
func (q *Queue) notNewest(ctx context.Context, has Holdings) error {
	if q.embedded == nil || has.Told == 0 {
		return nil
	}
	last, err := q.lastMatching(ctx, clustersStream, anyClusterStatus)
	if err == nil && last == has.Told {
		err = fmt.Errorf("%w: this is its store, and nobody told of a later name", ErrAlive)
	}
	return err
}

// awaitSilence waits until the cluster has told nothing for long enough. Whoever was to be sure may have taken a while, so that it looks in any case.
func (q *Queue) awaitSilence(ctx context.Context, r Removal, before Holdings) error {
	if r.Silence <= 0 {
		return nil
	}
	if lacks := r.Silence - before.Silent; before.Told != 0 && lacks > 0 && !pause(ctx, lacks) {
		return ctx.Err()
	}
	now, err := q.holdings(ctx, r.Cluster)
	if err == nil && now.bound != before.bound {
		return fmt.Errorf("%w: meanwhile the name was bound to the UID %.80q", ErrAlive, now.UID)
	}
	if err == nil && now.Told != before.Told {
		err = fmt.Errorf("%w: it told the hub something %v ago; start it without --hub-url, or take its user out of the hub's configuration, and "+
			"try again", ErrAlive, now.Silent.Round(time.Second))
	}
	return err
}

// holdings finds out what the hub has of a cluster.
func (q *Queue) holdings(ctx context.Context, cluster string) (has Holdings, err error) {
	ctx, release := q.bounded(ctx, snapshotTime, "$JS.API.STREAM.INFO.", "$JS.API.DIRECT.GET.", "$JS.API.STREAM.MSG.GET.")
	defer release()
	defer func() { err = wrap(explain(ctx, err), "look at what there is") }()
	clusters, err := q.js.Stream(ctx, clustersStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return has, fmt.Errorf(`%w: there is no stream %s: is this a hub? "reroll nats setup --role=hub" makes it`, ErrNotSetUp, clustersStream)
	}
	if err != nil {
		return has, err
	}
	name, err := lastOf(ctx, clusters, clusterPrefix+"."+escape(cluster))
	if err != nil {
		return has, err
	}
	told, err := lastOf(ctx, clusters, statusSubject(cluster))
	if err != nil {
		return has, err
	}
	has = Holdings{UID: string(name.Data), bound: name.Sequence, Messages: map[string]uint64{}}
	if told.Header.Get(headerOperation) == "" && told.Sequence > 0 {
		has.Told, has.Silent = told.Sequence, max(0, cmp.Or(clusters.CachedInfo().TimeStamp, time.Now()).Sub(told.Time))
	}
	for _, part := range heldOf(cluster) {
		n, err := q.countMessages(ctx, part)
		if err != nil {
			return has, err
		}
		if n > 0 {
			has.Messages[part.what] = n
		}
	}
	return has, nil
}

// lastOf returns the newest message of a subject, and one that says nothing if there is none.
func lastOf(ctx context.Context, stream jetstream.Stream, subject string) (*jetstream.RawStreamMsg, error) {
	last, err := stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return &jetstream.RawStreamMsg{}, nil
	}
	return last, err
}

// countMessages returns how many messages there are of a part. A hub that was set up before there were follows has no stream of them.
func (q *Queue) countMessages(ctx context.Context, part held) (n uint64, err error) {
	stream, err := q.js.Stream(ctx, part.stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, filter := range part.filters {
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter(filter))
		if err != nil {
			return 0, err
		}
		for _, of := range info.State.Subjects {
			n += of
		}
	}
	return n, nil
}
