package dispatcher

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Pods of a new workload can be kept from being scheduled until everything is there that they need: by the admission webhook, and by Wave
// before us. Like a pause, that lives on the workload alone, so that whoever sees it ends it: once nothing is missing, or the workload does
// not ask for it any more. It is no reload, since none of those pods has ever started, so that no brake holds it back.

// lookForMissing is how long a workload waits before it is looked again whether something is still missing, should nobody tell that it is there.
const lookForMissing = time.Minute

// noteScheduling has the pods of w scheduled in time, if somebody has kept them from it.
func (d *Dispatcher) noteScheduling(w *workload.Workload) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ref := w.Ref()
	if !strategy.Unscheduled(w) || w.DeletionTimestamp != nil || !d.Dialects.HoldsScheduling() {
		delete(d.unscheduled, ref)
		return
	}
	if d.DryRun && d.unscheduled[ref] == nil {
		d.Logger.Warn("a dry run does not have the pods of a workload scheduled", "workload", ref.String())
	}
	d.unscheduled[ref] = w
	if !d.DryRun {
		d.flushQ.Add(ref)
	}
}

// letSchedule has the pods of a workload scheduled again if nothing is in the way, and returns how long to wait if something is; 0 if there
// is nothing more to do.
func (d *Dispatcher) letSchedule(ctx context.Context, ref reloader.WorkloadRef) time.Duration {
	d.mu.Lock()
	w, t := d.unscheduled[ref], d.index.get(ref)
	d.mu.Unlock()
	if w == nil || d.DryRun {
		return 0
	}
	var ops []strategy.Op
	if t != nil && t.w.UID == w.UID {
		hold, err := d.awaited(ctx, w)
		switch {
		case err != nil:
			d.Logger.Warn("what a workload waits for cannot be read", "workload", ref.String(), "error", err)
			return again
		case hold != nil:
			return d.holdUnscheduled(t, hold)
		}
		if ops, err = d.waitedMarks(ctx, t, w); err != nil {
			d.Logger.Warn("the mark of a workload cannot be made", "workload", ref.String(), "error", err)
			return again
		}
	}
	return d.schedule(ctx, w, ops)
}

// awaited says what w waits for; nil if for nothing.
func (d *Dispatcher) awaited(ctx context.Context, w *workload.Workload) (*reloader.Hold, error) {
	var missing []string
	for _, c := range d.Dialects.Awaits(w) {
		f, err := d.part(ctx, w, c)
		if err != nil {
			return nil, err
		}
		missing = append(missing, dialect.Missing(c, w.Template.References[c], f.absent, f.digest.Keys)...)
	}
	return holdMissing(missing), nil
}

// holdUnscheduled takes note of what t waits for, and returns how long.
func (d *Dispatcher) holdUnscheduled(t *tracked, hold *reloader.Hold) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return min(lookForMissing, d.holdFor(t, hold, time.Now()))
}

// waitedMarks returns the operations that write the mark of everything that is there now, so that letting go is the only change of the
// template.
func (d *Dispatcher) waitedMarks(ctx context.Context, t *tracked, w *workload.Workload) ([]strategy.Op, error) {
	var placed []strategy.Placed
	for _, dl := range d.Dialects {
		interest, opted := dl.Interest(w)
		if !dl.Waits || dl.Joint == nil || !opted || len(interest.Exact) == 0 {
			continue
		}
		values, err := d.joint(ctx, t, w, dl)
		if err != nil {
			return nil, err
		}
		if len(values) > 0 {
			mark := strategy.Mark{Config: interest.Exact[0], Value: values[0]}
			placed = append(placed, strategy.Placed{Strategy: d.strategyBy(w, dl), Mark: mark})
		}
	}
	return strategy.Write(w, placed)
}

// schedule writes that the pods of w are scheduled again, and what else is to be written with it.
func (d *Dispatcher) schedule(ctx context.Context, w *workload.Workload, marks []strategy.Op) time.Duration {
	ops := append(strategy.Precondition(w), strategy.ReleaseScheduling(w)...)
	released, err := d.Workloads.Roll(ctx, w, strategy.Roll{Ops: append(ops, marks...), FieldManager: workload.MarkManager})
	switch fateOf(err) {
	case fateDone:
		d.Logger.Info("pods are scheduled again", "workload", w.Ref().String())
		d.refreshMarked(released)
		d.Track(released)
		return 0
	case fateGone:
		d.dropUnscheduled(w)
		return 0
	case fateStale:
		live, readErr := d.Workloads.Read(ctx, w.Ref())
		if fateOf(readErr) == fateGone {
			d.dropUnscheduled(w)
			return 0
		}
		if readErr == nil && !live.Same(w) {
			d.Track(live)
			return time.Millisecond
		}
	}
	d.Logger.Warn("pods could not be scheduled again yet", "workload", w.Ref().String(), "error", err)
	return again
}

// dropUnscheduled forgets w, which is gone, and not another workload of its name that was seen meanwhile.
func (d *Dispatcher) dropUnscheduled(w *workload.Workload) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unscheduled[w.Ref()] == w {
		delete(d.unscheduled, w.Ref())
	}
}
