package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// headerKind has the kind of a workload whose record has ended: the subject has it in lower case.
	headerKind = "Reroll-Kind"
	// EndTime is how long the end of a record is kept, for readers that were away.
	EndTime = 7 * 24 * time.Hour
)

// LoadWorkloads returns the record of each workload of cluster. One that cannot be read is left out.
func (q *Queue) LoadWorkloads(ctx context.Context, cluster string) ([]reloader.WorkloadRecord, error) {
	var records []reloader.WorkloadRecord
	err := each(ctx, q, workloadPrefix+"."+cluster+".>", workloadOf, func(r reloader.WorkloadRecord) { records = append(records, r) })
	return records, wrap(err, "load workloads of %s", cluster)
}

// PutWorkload stores r in place of the last record of the workload.
func (q *Queue) PutWorkload(ctx context.Context, r reloader.WorkloadRecord) error {
	subject, err := workloadSubject(workloadPrefix, r.Cluster, r.Workload)
	return wrap(store(ctx, q.state, subject, err, r), "put workload %s", r.Workload)
}

// DeleteWorkload ends the record of a workload. A record that does not exist is not an error.
func (q *Queue) DeleteWorkload(ctx context.Context, cluster string, ref reloader.WorkloadRef) error {
	subject, err := workloadSubject(workloadPrefix, cluster, ref)
	if err != nil {
		return fmt.Errorf("delete workload: %w", err)
	}
	m := NewMessage(subject, nil)
	m.Header.Set(headerKind, ref.Kind)
	m.Header.Set(jetstream.MsgTTLHeader, EndTime.String())
	return wrap(q.state.put(ctx, m), "delete workload %s", ref)
}

// PutClusterStatus stores s in place of the last status of the cluster.
func (q *Queue) PutClusterStatus(ctx context.Context, s reloader.ClusterStatus) error {
	err := reloader.ValidateCluster(s.Cluster)
	return wrap(store(ctx, q.state, StatusSubject(s.Cluster), err, s), "put status of cluster %s", s.Cluster)
}

// BindCluster binds a cluster name to the UID of a cluster, that of its namespace kube-system. The first UID stays for as long as the store does;
// with another one the error wraps ErrOtherCluster, since two clusters with one name would mix their records. Of several that bind at the same
// time one wins. Calling it again is harmless.
func (q *Queue) BindCluster(ctx context.Context, cluster, uid string) error {
	if err := reloader.ValidateCluster(cluster); err != nil {
		return fmt.Errorf("bind cluster: %w", err)
	}
	if uid == "" {
		return fmt.Errorf("bind cluster %s: the cluster has no UID", cluster)
	}
	subject := clusterPrefix + "." + cluster + "." + uidToken
	// After the first attempt somebody else may have been first, so it looks twice.
	for range 2 {
		m, found, err := q.latest(ctx, StateStream, subject)
		switch {
		case err != nil:
			return fmt.Errorf("bind cluster %s: %w", cluster, err)
		case found && string(m.Data) == uid:
			return nil
		case found:
			return fmt.Errorf("%w: %s is the cluster with UID %.80q, and this one has UID %.80q; give this one another --cluster-name, or, "+
				"if the cluster was rebuilt, start with an empty --data-dir, or purge the subject %s of the NATS stream %s",
				ErrOtherCluster, cluster, m.Data, uid, subject, StateStream)
		}
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		_, err = q.JS.Publish(ctx, subject, []byte(uid), jetstream.WithExpectLastSequencePerSubject(0))
		cancel()
		// The server says that it is not the first, or that another one is being stored.
		if r := refusal(err); r == nil || r.ErrorCode != jetstream.JSErrCodeStreamWrongLastSequence && r.ErrorCode != jetstream.JSErrCodeStreamWrongLastSequenceConstant {
			return wrap(explain(err), "bind cluster %s", cluster)
		}
	}
	return fmt.Errorf("bind cluster %s: other processes bind it at the same time", cluster)
}

// KeepRecords calls again each time that the connection was lost and is back: the server may have lost what it had. It returns when ctx ends.
func (q *Queue) KeepRecords(ctx context.Context, again func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.restored:
			again()
		}
	}
}
