package queue

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
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

// LoadWorkloads returns the record of each workload of cluster, in no particular order. A record that cannot be read is
// left out.
func (q *Queue) LoadWorkloads(ctx context.Context, cluster string) ([]reloader.WorkloadRecord, error) {
	filter, err := clusterFilter(workloadPrefix, cluster)
	if err != nil {
		return nil, fmt.Errorf("load workloads: %w", err)
	}
	var records []reloader.WorkloadRecord
	err = q.snapshot(ctx, workloadsStream, filter, func(msg jetstream.Msg, sequence uint64) error {
		q.newest.note(msg.Subject(), sequence)
		if msg.Headers().Get(headerOperation) != "" {
			return nil
		}
		r, reason := reloader.Decode[reloader.WorkloadRecord](msg.Data())
		if reason != nil {
			q.noteUnreadable(workloadsStream, msg.Subject(), sequence, reason)
			return nil
		}
		records = append(records, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load workloads of %s: %w", cluster, err)
	}
	return records, nil
}

// PutWorkload stores r in place of the workload's last record. It fails with an error that wraps reloader.ErrOutrun, and stores nothing, if that
// is not the one that this Queue has loaded or stored last: somebody else works on the workload. A caller who knows to be the one who may calls
// again, and then takes the place of what is there now.
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
	return wrap(q.replace(ctx, m), "put workload %s", r.Workload)
}

// DeleteWorkload ends the record of a workload. It is no error if there is none. It fails like PutWorkload if somebody else has written it.
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
	if err := q.replace(ctx, m); err != nil {
		return fmt.Errorf("delete workload %s: %w", ref, err)
	}
	q.newest.forget(subject)
	return nil
}

// replace stores m if the newest message of its subject is the one that is known here, and takes note of what is the newest then.
func (q *Queue) replace(ctx context.Context, m *nats.Msg) error {
	m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(q.newest.of(m.Subject), 10))
	sequence, err := q.workloads.putPart(ctx, []message{{Msg: m}})
	if isConflict(err) {
		err = fmt.Errorf("%w: %w", reloader.ErrOutrun, err)
		if there, named := lastOnRefusal(err); named {
			q.newest.note(m.Subject, there)
		}
		return err
	}
	if err != nil {
		return err
	}
	q.newest.note(m.Subject, sequence)
	return nil
}

// newestOf has the sequence of the newest message of subjects, as far as it is known.
type newestOf struct {
	mu        sync.Mutex
	sequences map[string]uint64
	highest   uint64
}

// last returns the highest sequence that was noted.
func (n *newestOf) last() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.highest
}

// forgetAll is for a stream that was set back, or is another one.
func (n *newestOf) forgetAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.sequences)
	n.highest = 0
}

func (n *newestOf) of(subject string) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sequences[subject]
}

func (n *newestOf) note(subject string, sequence uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sequences == nil {
		n.sequences = map[string]uint64{}
	}
	n.sequences[subject] = sequence
	n.highest = max(n.highest, sequence)
}

func (n *newestOf) forget(subject string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.sequences, subject)
}
