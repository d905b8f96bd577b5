package dispatcher

import (
	"context"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// A pause lives on the workload alone: the patch that marks a Deployment also pauses it and says since when, and whoever sees that
// annotation ends the pause when it is due. So it survives every process, and also the workload's opting out.

// owed has the workloads whose pause is to be ended, opted in or not. Dispatcher.mu guards it.
type owed struct {
	paused map[reloader.WorkloadRef]*workload.Workload
	// now are those of paused that are not ours any more: their pause ends at once, since a later process will not see it.
	now map[reloader.WorkloadRef]bool
}

func newOwed() owed {
	return owed{paused: map[reloader.WorkloadRef]*workload.Workload{}, now: map[reloader.WorkloadRef]bool{}}
}

// noteOwed has the pause of w, of which p is the plan, ended in time, if one was begun.
func (d *Dispatcher) noteOwed(w *workload.Workload, p *dialect.Plan) {
	pause, ref := p.Chosen.Pause, w.Ref()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.owed.now, ref)
	if !pause.Begun {
		delete(d.owed.paused, ref)
		return
	}
	if d.DryRun {
		if d.owed.paused[ref] == nil {
			d.Logger.Warn("a dry run does not end the pause of a workload", "workload", ref.String(), "until", pause.Until)
		}
		d.owed.paused[ref] = w
		return
	}
	d.owed.paused[ref] = w
	d.owedQ.AddAfter(ref, pauseLeft(pause, time.Now()))
}

// abandonOwed has the pause of a workload, if one was begun, ended now.
func (d *Dispatcher) abandonOwed(ref reloader.WorkloadRef) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.owed.paused[ref] != nil && !d.DryRun {
		d.owed.now[ref] = true
		d.owedQ.Add(ref)
	}
}

// payOwed ends the pause of a workload that is due.
func (d *Dispatcher) payOwed(ctx context.Context, ref reloader.WorkloadRef) time.Duration {
	d.mu.Lock()
	w, now := d.owed.paused[ref], d.owed.now[ref]
	d.mu.Unlock()
	if w == nil {
		return 0
	}
	p := d.compile(w)
	pause := p.Chosen.Pause
	if wait := pauseLeft(pause, time.Now()); wait > 0 && !now {
		return wait
	}
	resumed, err := d.Workloads.Roll(ctx, w, mark.Resume(pause.Key))
	switch fateOf(err) {
	case fateDone:
		d.Logger.Info("pause ended", "workload", ref.String())
		q := d.compile(resumed)
		d.noteOwed(resumed, &q)
		return 0
	case fateGone:
		d.dropOwed(w)
		return 0
	case fateStale:
		live, readErr := d.Workloads.Read(ctx, ref)
		if fateOf(readErr) == fateGone {
			d.dropOwed(w)
			return 0
		}
		if readErr == nil {
			q := d.compile(live)
			d.noteOwed(live, &q)
			d.mu.Lock()
			d.owed.now[ref] = now && d.owed.paused[ref] != nil
			d.mu.Unlock()
		}
	}
	d.Logger.Warn("pause could not be ended yet", "workload", ref.String(), "error", err)
	return again
}

// dropOwed forgets the pause of w, which is gone, and not that of another workload of its name that was seen meanwhile.
func (d *Dispatcher) dropOwed(w *workload.Workload) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.owed.paused[w.Ref()] == w {
		delete(d.owed.paused, w.Ref())
		delete(d.owed.now, w.Ref())
	}
}

// clockSkew is how far the clock of another process that began a pause may be ahead of ours.
const clockSkew = 5 * time.Minute

// pauseLeft returns how long p still lasts; a pause that says it begins in times to come is over.
func pauseLeft(p dialect.Pause, now time.Time) time.Duration {
	left := p.Until.Sub(now)
	if left < 0 || left > p.Period+clockSkew {
		return 0
	}
	return left
}

// release has the pods of t scheduled that Wave kept from it, and returns how long to wait before that is tried again. It is not a
// reload: none of these pods has ever started.
func (d *Dispatcher) release(ctx context.Context, t *tracked) time.Duration {
	d.mu.Lock()
	w := t.w
	d.mu.Unlock()
	waits := slices.ContainsFunc(d.Dialects, func(dl *dialect.Dialect) bool { return dl.Waits })
	if !mark.Unscheduled(w) || d.DryRun || !waits {
		return 0
	}
	released, err := d.Workloads.Roll(ctx, w, mark.Release(w))
	switch fateOf(err) {
	case fateDone:
		d.Logger.Info("pods are scheduled again", "workload", w.Ref().String())
		d.Track(released)
		return 0
	case fateGone:
		return 0
	case fateStale:
		if live, err := d.Workloads.Read(ctx, w.Ref()); err == nil {
			d.Track(live)
			return again
		}
	}
	d.Logger.Warn("pods could not be scheduled again yet", "workload", w.Ref().String(), "error", err)
	return again
}
