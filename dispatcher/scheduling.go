package dispatcher

import (
	"context"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// unscheduled reports whether Wave has kept the pods of w from being scheduled, and Reroll has to release them.
func (d *Dispatcher) unscheduled(w *workload.Workload) bool {
	return strategy.Unscheduled(w) && !d.DryRun && slices.ContainsFunc(d.Dialects, func(dl *dialect.Dialect) bool { return dl.Waits })
}

// release has the pods of a workload scheduled that Wave kept from it, and returns how long to wait before it is tried again. It is not a
// reload: none of these pods has ever started.
func (d *Dispatcher) release(ctx context.Context, ref reloader.WorkloadRef) time.Duration {
	d.mu.Lock()
	t := d.index.get(ref)
	var w *workload.Workload
	if t != nil {
		w = t.w // which Track replaces
	}
	d.mu.Unlock()
	if w == nil || !d.unscheduled(w) {
		return 0
	}
	ops := append(strategy.Precondition(w), strategy.ReleaseScheduling(w)...)
	released, err := d.Workloads.Roll(ctx, w, strategy.Roll{Ops: ops, FieldManager: workload.MarkManager})
	switch fateOf(err) {
	case fateDone:
		d.Logger.Info("pods are scheduled again", "workload", ref.String())
		d.refreshMarked(released)
		d.Track(released)
		return 0
	case fateGone:
		return 0
	case fateStale:
		if moved, readErr := d.reread(ctx, t, w, err); readErr == nil && moved {
			return time.Millisecond
		}
	}
	d.Logger.Warn("pods could not be scheduled again yet", "workload", ref.String(), "error", err)
	return again
}
