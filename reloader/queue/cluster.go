package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// BindCluster makes the cluster with the given UID, that of its namespace kube-system, the one that the name cluster stands for. The
// first UID stays, for as long as the store does; with another the error wraps ErrOtherCluster, since two clusters under one name
// would take each other's changes for their own. Of several that bind at the same time one wins. Calling it again is harmless.
func (q *Queue) BindCluster(ctx context.Context, cluster, uid string) error {
	if err := reloader.ValidateCluster(cluster); err != nil {
		return fmt.Errorf("bind cluster: %w", err)
	}
	if uid == "" {
		return fmt.Errorf("bind cluster %s: the cluster has no UID", cluster)
	}
	ctx, release := q.bounded(ctx, answerTime, clusterPrefix, "$JS.API.STREAM.INFO."+clustersStream,
		"$JS.API.DIRECT.GET."+clustersStream, "$JS.API.STREAM.MSG.GET."+clustersStream)
	defer release()
	bound, err := q.bindFirst(ctx, cluster, uid)
	if err != nil {
		return fmt.Errorf("bind cluster %s: %w", cluster, explain(ctx, err))
	}
	if bound != uid {
		return fmt.Errorf("%w: %s is the cluster with UID %.80q, and this one has UID %.80q; give this one another --cluster-name, or, "+
			"if the cluster was really rebuilt, start with an empty --data-dir or delete the key %s of the NATS KV bucket %s",
			ErrOtherCluster, cluster, bound, uid, cluster, clustersBucket)
	}
	return nil
}

// bindFirst returns the UID that is bound to cluster, which is uid if there was none. It looks before it writes, so that a user who
// may only look can go on with what is bound.
func (q *Queue) bindFirst(ctx context.Context, cluster, uid string) (string, error) {
	bucket, err := q.js.KeyValue(ctx, clustersBucket)
	if err != nil {
		return "", err
	}
	entry, err := bucket.Get(ctx, cluster)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		if _, err = bucket.Create(ctx, cluster, []byte(uid)); err == nil {
			return uid, nil
		}
		if errors.Is(err, jetstream.ErrKeyExists) {
			entry, err = bucket.Get(ctx, cluster)
		}
	}
	if err != nil {
		return "", err
	}
	return string(entry.Value()), nil
}
