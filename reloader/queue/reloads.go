package queue

import (
	"context"
	"fmt"

	"github.com/reroll-dev/reroll/reloader"
)

// AppendReload stores r as the newest reload of its workload. Of one reload several versions may be stored; the last is the one
// that counts.
func (q *Queue) AppendReload(ctx context.Context, r reloader.Reload) error {
	subject, err := workloadSubject(reloadPrefix, r.Cluster, r.Workload)
	if err != nil {
		return fmt.Errorf("append reload: %w", err)
	}
	data, err := reloader.EncodeWithin(r, q.limit())
	if err != nil {
		return fmt.Errorf("append reload of %s: %w", r.Workload, err)
	}
	m := newMessage(subject, "reload", r.Cluster, r.DecidedAt, data)
	return wrap(q.reloads.put(ctx, []message{{Msg: m}}), "append reload of %s", r.Workload)
}

// LastReload returns the newest stored reload of a workload. The second result is false if there is none, or if it cannot be
// read.
func (q *Queue) LastReload(ctx context.Context, cluster string, ref reloader.WorkloadRef) (reloader.Reload, bool, error) {
	subject, err := workloadSubject(reloadPrefix, cluster, ref)
	if err != nil {
		return reloader.Reload{}, false, fmt.Errorf("last reload: %w", err)
	}
	raw, err := q.last(ctx, reloadsStream, subject)
	if err != nil || raw == nil {
		return reloader.Reload{}, false, wrap(err, "last reload of %s", ref)
	}
	r, reason := reloader.Decode[reloader.Reload](raw.Data)
	if reason != nil {
		q.noteUnreadable(reloadsStream, subject, raw.Sequence, reason)
		return reloader.Reload{}, false, nil
	}
	return r, true, nil
}
