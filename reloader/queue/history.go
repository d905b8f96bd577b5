package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/reroll-dev/reroll/reloader"
)

// AppendChange stores c, and its fingerprints as the newest of its config. Calling it again with the same change is harmless.
func (q *Queue) AppendChange(ctx context.Context, c reloader.Change) error {
	data, err := reloader.Encode(c)
	if err != nil {
		return fmt.Errorf("append change of %s: %w", c.Config, err)
	}
	// The fingerprints come first: when they are stored and the rest fails, the caller repeats both, and the history has the change once.
	for _, to := range []struct {
		prefix string
		*recorder
	}{{configPrefix, q.state}, {changePrefix, q.history}} {
		subject, err := ConfigSubject(to.prefix, c.Cluster, c.Config)
		if err != nil {
			return fmt.Errorf("append change: %w", err)
		}
		if err := to.put(ctx, NewMessage(subject, data)); err != nil {
			return fmt.Errorf("append change of %s: %w", c.Config, err)
		}
	}
	return nil
}

// LoadChanges returns the newest change of each config of cluster. One that cannot be read is left out.
func (q *Queue) LoadChanges(ctx context.Context, cluster string) (map[reloader.Config]reloader.Change, error) {
	changes := map[reloader.Config]reloader.Change{}
	err := q.each(ctx, StateStream, configPrefix+"."+cluster+".>", func(m Stored) {
		if c, err := changeOf(configPrefix, m); err != nil {
			q.noteUnreadable(StateStream, m.Subject, err)
		} else {
			changes[c.Config] = *c
		}
	})
	return changes, wrap(err, "load changes of %s", cluster)
}

// LatestChange returns the newest change of c; false if there is none that can be read.
func (q *Queue) LatestChange(ctx context.Context, cluster string, c reloader.Config) (reloader.Change, bool, error) {
	subject, err := ConfigSubject(configPrefix, cluster, c)
	if err != nil {
		return reloader.Change{}, false, fmt.Errorf("latest change: %w", err)
	}
	m, found, err := q.latest(ctx, StateStream, subject)
	if err != nil || !found {
		return reloader.Change{}, false, wrap(err, "latest change of %s", c)
	}
	change, err := changeOf(configPrefix, m)
	if err != nil {
		q.noteUnreadable(StateStream, subject, err)
		return reloader.Change{}, false, nil
	}
	return *change, true, nil
}

// AppendReload stores r as the newest reload of its workload. Of several versions of one reload the last is the one that counts.
func (q *Queue) AppendReload(ctx context.Context, r reloader.Reload) error {
	subject, err := workloadSubject(reloadPrefix, r.Cluster, r.Workload)
	if err != nil {
		return fmt.Errorf("append reload: %w", err)
	}
	data, err := reloader.Encode(r)
	if err != nil {
		return fmt.Errorf("append reload of %s: %w", r.Workload, err)
	}
	return wrap(q.history.put(ctx, NewMessage(subject, data)), "append reload of %s", r.Workload)
}

// LastReload returns the newest stored reload of a workload; false if there is none that can be read.
func (q *Queue) LastReload(ctx context.Context, cluster string, ref reloader.WorkloadRef) (reloader.Reload, bool, error) {
	subject, err := workloadSubject(reloadPrefix, cluster, ref)
	if err != nil {
		return reloader.Reload{}, false, fmt.Errorf("last reload: %w", err)
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

// noteUnreadable counts and logs a stored message that cannot be read.
func (q *Queue) noteUnreadable(stream, subject string, reason error) {
	q.metrics.unreadable.WithLabelValues(stream).Inc()
	q.log.Error("cannot read a stored message", "stream", stream, "subject", subject, "newer", errors.Is(reason, reloader.ErrNewerVersion), "error", reason)
}
