package dispatcher

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// A change may slip in between a workload's opting in and our seeing it, when nobody knows the content of before. What is left of it is the
// hint, and when things were written, made and started.

// judgeHint judges an edge without a mark by the last hint about its config. It tells of a change that was missed if the data may have been
// written after w was, and some container runs with what was there before. The hint stored last need not be that of the last write, and may be lost or
// still to come: the managed fields tell of the write then. Kubernetes tells all times by the second; equal means may be, if there is a hint.
func (d *Dispatcher) judgeHint(ctx context.Context, w *workload.Workload, c reloader.Config, f fact, h reloader.Handled) (reloader.Handled, error) {
	hint, ok, err := d.Hints.LastHint(ctx, d.Cluster, c)
	if err != nil {
		return h, fmt.Errorf("read last hint of %s: %w", c, err)
	}
	since, last := w.LastWritten.Truncate(time.Second), later(hint.Time, f.DataWritten)
	if last.Before(since) || !ok && !edited(w, f) {
		return h, nil
	}
	if hint.Creates() && !f.DataWritten.After(hint.Time) {
		return d.judgeCreation(ctx, w, c, f, h)
	}
	if !f.DataWritten.IsZero() && f.DataWritten.Before(since) && !takenFrom(w, f, since) {
		return h, nil
	}
	older, err := d.Workloads.StartedBy(ctx, w, last)
	if err != nil {
		return h, fmt.Errorf("read pods of %s: %w", w.Ref(), err)
	}
	if older {
		return reloader.Handled{}, nil
	}
	h.How = reloader.ReasonPodsNewer
	return h, nil
}

// edited reports whether data of f was certainly written after w, and after it was made.
func edited(w *workload.Workload, f fact) bool {
	return f.DataWritten.After(w.LastWritten) && f.DataWritten.After(f.Created)
}

// takenFrom reports whether something was taken away from a config since w was written then, which managed fields keep no time of: it has a
// later version than w, and nobody has written anything to it.
func takenFrom(w *workload.Workload, f fact, since time.Time) bool {
	order, err := resourceversion.CompareResourceVersion(f.ResourceVersion, w.ResourceVersion)
	return err == nil && order > 0 && f.Written.Before(since)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// judgeCreation judges an edge whose config was made after w was last written. Mostly w has waited for it. But a container that cannot start
// without it, and has started before it was made, runs with one that was there before.
func (d *Dispatcher) judgeCreation(ctx context.Context, w *workload.Workload, c reloader.Config, f fact, h reloader.Handled) (reloader.Handled, error) {
	after, known := templateSince(w)
	if !requires(w, c) || !known || f.Created.IsZero() || d.unchanged(c, f) {
		return h, nil
	}
	older, err := d.Workloads.StartedBetween(ctx, w, after, f.Created, users(w.Template.References[c]))
	if err != nil {
		return h, fmt.Errorf("read pods of %s: %w", w.Ref(), err)
	}
	if older {
		return reloader.Handled{}, nil
	}
	return h, nil
}

// requires reports whether some container of w cannot start while c is not there.
func requires(w *workload.Workload, c reloader.Config) bool {
	ref := w.Template.References[c]
	return ref != nil && ref.Required
}

// users returns the containers that use a config.
func users(r *workload.Reference) (names []string) {
	for _, u := range r.Uses {
		if u.Container != "" {
			names = append(names, u.Container)
		}
	}
	return names
}

// unchanged reports whether c is known to have had the content of f already before it was deleted and made again.
func (d *Dispatcher) unchanged(c reloader.Config, f fact) bool {
	_, _, latest := d.recall(c)
	return latest.Change.UID != f.UID || latest.Change.Old.Equal(latest.Change.New)
}

// templateSince returns a time such that the pods of w that start after it run the template that it has now: zero if all of them do. The
// second result is false if nobody says.
func templateSince(w *workload.Workload) (time.Time, bool) {
	written := w.LastWritten
	if w.Via != nil && w.Via.LastWritten.After(written) {
		written = w.Via.LastWritten
	}
	if w.Progress.Phase == workload.RolledOut || written.Equal(w.CreationTimestamp.Time) {
		return time.Time{}, true
	}
	return written, !written.IsZero()
}
