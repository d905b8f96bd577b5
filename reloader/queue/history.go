package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// AppendChange stores c, and its fingerprints as the newest of its config. Calling it again with the same change is harmless.
func (q *Queue) AppendChange(ctx context.Context, c reloader.Change) error {
	// The fingerprints come first: when they are stored and the rest fails, the caller repeats both, and the history has the change once.
	subject, err := ConfigSubject(configPrefix, c.Cluster, c.Config)
	if err = store(ctx, q.state, subject, err, c); err == nil {
		subject, err = ConfigSubject(changePrefix, c.Cluster, c.Config)
		err = store(ctx, q.history, subject, err, c)
	}
	return wrap(err, "append change of %s", c.Config)
}

// LoadChanges returns the newest change of each config of cluster. One that cannot be read is left out.
func (q *Queue) LoadChanges(ctx context.Context, cluster string) (map[reloader.Config]reloader.Change, error) {
	changes := map[reloader.Config]reloader.Change{}
	err := each(ctx, q, configPrefix+"."+cluster+".>", newestChange, func(c reloader.Change) { changes[c.Config] = c })
	return changes, wrap(err, "load changes of %s", cluster)
}

func newestChange(m Stored) (*reloader.Change, error) { return changeOf(configPrefix, m) }

// AppendReload stores r as the newest reload of its workload. Of several versions of one reload the last is the one that counts.
func (q *Queue) AppendReload(ctx context.Context, r reloader.Reload) error {
	subject, err := workloadSubject(reloadPrefix, r.Cluster, r.Workload)
	return wrap(store(ctx, q.history, subject, err, r), "append reload of %s", r.Workload)
}

// LastReload returns the newest stored reload of a workload; false if there is none that can be read.
func (q *Queue) LastReload(ctx context.Context, cluster string, ref reloader.WorkloadRef) (reloader.Reload, bool, error) {
	subject, err := workloadSubject(reloadPrefix, cluster, ref)
	if err != nil {
		return reloader.Reload{}, false, wrap(err, "last reload of %s", ref)
	}
	m, found, err := q.latest(ctx, HistoryStream, subject)
	if err != nil || !found {
		return reloader.Reload{}, false, wrap(err, "last reload of %s", ref)
	}
	r, err := reloadOf(m)
	if err != nil {
		q.noteUnreadable(HistoryStream, subject, err)
		return reloader.Reload{}, false, nil
	}
	return *r, true, nil
}

// store stores a record on its subject, unless err says that it has none.
func store[R reloader.Record](ctx context.Context, to *recorder, subject string, err error, r R) error {
	if err != nil {
		return err
	}
	m, err := MessageOf(subject, r)
	if err != nil {
		return err
	}
	return to.put(ctx, m)
}

// each calls f for every record of STATE that matches and can be read. One that has ended has no content.
func each[R any](ctx context.Context, q *Queue, subject string, read func(Stored) (*R, error), f func(R)) error {
	ctx, cancel := context.WithTimeout(ctx, snapshotTime)
	defer cancel()
	t, err := q.Tail(ctx, StateStream, 0, subject)
	if err != nil {
		return err
	}
	defer t.Close()
	for left := t.Waiting(); left > 0; {
		m, err := t.Next(ctx)
		if err != nil {
			return fmt.Errorf("read %s: %w", StateStream, explain(err))
		}
		if left = m.Pending; len(m.Data) == 0 {
			continue
		}
		if r, err := read(m); err != nil {
			q.noteUnreadable(StateStream, m.Subject, err)
		} else {
			f(*r)
		}
	}
	return nil
}

// snapshotTime bounds the read of everything of one kind.
const snapshotTime = time.Minute

// noteUnreadable counts and logs a stored message that cannot be read.
func (q *Queue) noteUnreadable(stream, subject string, reason error) {
	q.metrics.unreadable.WithLabelValues(stream).Inc()
	q.log.Error("cannot read a stored message", "stream", stream, "subject", subject, "newer", errors.Is(reason, reloader.ErrNewerVersion), "error", reason)
}
