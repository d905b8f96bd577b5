package queue

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// The status of a cluster, and that it was removed, lie beside its UID, under keys of two tokens: no name of a cluster has a dot.
const (
	statusToken      = "status"
	anyClusterStatus = clusterPrefix + ".*." + statusToken
	// removedToken is that of where a hub says that a cluster was removed.
	removedToken      = "removed"
	anyClusterRemoved = clusterPrefix + ".*." + removedToken
)

func statusSubject(cluster string) string {
	return clusterPrefix + "." + escape(cluster) + "." + statusToken
}

func removedSubject(cluster string) string {
	return clusterPrefix + "." + escape(cluster) + "." + removedToken
}

// PutClusterStatus stores s in place of the cluster's last status.
func (q *Queue) PutClusterStatus(ctx context.Context, s reloader.ClusterStatus) error {
	m, err := statusMessage(s)
	if err != nil {
		return err
	}
	ctx, release := q.bounded(ctx, answerTime, clusterPrefix)
	defer release()
	_, err = q.js.PublishMsg(ctx, m)
	return wrap(explain(ctx, err), "put status of cluster %s", s.Cluster)
}

// statusMessage returns the message that stores s.
func statusMessage(s reloader.ClusterStatus) (*nats.Msg, error) {
	if err := reloader.ValidateCluster(s.Cluster); err != nil {
		return nil, fmt.Errorf("put cluster status: %w", err)
	}
	data, err := reloader.Encode(s)
	if err != nil {
		return nil, fmt.Errorf("put status of cluster %s: %w", s.Cluster, err)
	}
	return newMessage(statusSubject(s.Cluster), "cluster-status", s.Cluster, s.At, data), nil
}

func (f *following) cluster(msg jetstream.Msg, sequence uint64) error {
	if msg.Headers().Get(headerOperation) != "" {
		return f.clusterGone(msg, sequence)
	}
	s, err := reloader.Decode[reloader.ClusterStatus](msg.Data())
	if err != nil {
		return err
	}
	if err := inPlace(msg, statusSubject(s.Cluster), reloader.ValidateCluster(s.Cluster)); err != nil {
		return err
	}
	meta, err := msg.Metadata()
	if err != nil {
		return err
	}
	s.Sequence, s.StoredAt = sequence, meta.Timestamp
	f.to.Cluster(s)
	return nil
}
