package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// Headers that make a message the end of a record for every KV client.
const (
	headerOperation = "KV-Operation"
	operationPurge  = "PURGE"
	// headerKind keeps the kind as it is written: the subject has it in lower case.
	headerKind = "Reroll-Kind"
)

// markerAge is how long the end of a record is kept, for followers that were away.
const markerAge = 7 * 24 * time.Hour

// LoadWorkloads returns the record of each workload of cluster, in no particular order. A record that cannot be read is set
// aside and left out.
func (q *Queue) LoadWorkloads(ctx context.Context, cluster string) ([]reloader.WorkloadRecord, error) {
	filter, err := clusterFilter(workloadPrefix, cluster)
	if err != nil {
		return nil, fmt.Errorf("load workloads: %w", err)
	}
	var records []reloader.WorkloadRecord
	err = q.snapshot(ctx, workloadsStream, filter, func(msg jetstream.Msg, sequence uint64) error {
		if msg.Headers().Get(headerOperation) != "" {
			return nil
		}
		r, reason := reloader.Decode[reloader.WorkloadRecord](msg.Data())
		if reason != nil {
			return q.setAside(ctx, workloadsStream, msg.Subject(), sequence, msg.Data(), reason)
		}
		records = append(records, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load workloads of %s: %w", cluster, err)
	}
	return records, nil
}

// PutWorkload stores r in place of the workload's last record.
func (q *Queue) PutWorkload(ctx context.Context, r reloader.WorkloadRecord) error {
	subject, err := workloadSubject(workloadPrefix, r.Cluster, r.Workload)
	if err != nil {
		return fmt.Errorf("put workload: %w", err)
	}
	data, err := reloader.EncodeWithin(r, q.limit())
	if err != nil {
		return fmt.Errorf("put workload %s: %w", r.Workload, err)
	}
	m := newMessage(subject, "workload", r.Cluster, r.UpdatedAt, data)
	return wrap(q.workloads.put(ctx, []message{{Msg: m}}), "put workload %s", r.Workload)
}

// DeleteWorkload ends the record of a workload. It is no error if there is none.
func (q *Queue) DeleteWorkload(ctx context.Context, cluster string, ref reloader.WorkloadRef) error {
	subject, err := workloadSubject(workloadPrefix, cluster, ref)
	if err != nil {
		return fmt.Errorf("delete workload: %w", err)
	}
	m := newMessage(subject, "workload-gone", cluster, time.Now(), nil)
	m.Header.Set(headerOperation, operationPurge)
	m.Header.Set(headerKind, ref.Kind)
	if q.config(workloadsStream).AllowMsgTTL {
		m.Header.Set(jetstream.MsgTTLHeader, markerAge.String())
	}
	return wrap(q.workloads.put(ctx, []message{{Msg: m}}), "delete workload %s", ref)
}
