package dispatcher

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// A pause lives on the workload alone: the patch that marks a Deployment also pauses it and says since when, and whoever sees that
// annotation ends the pause when it is due. So it survives every process, and also the workload's opting out.

// mindPause is notePause for a workload that is our business.
func (d *Dispatcher) mindPause(w *workload.Workload) {
	d.mu.Lock()
	delete(d.abandoned, w.Ref())
	d.mu.Unlock()
	d.notePause(w)
}

// abandonPause has the pause of a workload, if one was begun, ended now.
func (d *Dispatcher) abandonPause(ref reloader.WorkloadRef) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.paused[ref] != nil && !d.DryRun {
		d.abandoned[ref] = true
		d.resumeQ.Add(ref)
	}
}

// notePause has the pause of w, if one was begun, ended in time.
func (d *Dispatcher) notePause(w *workload.Workload) {
	p := d.planOf(w).Chosen.Pause
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.Begun && d.DryRun && d.paused[w.Ref()] == nil {
		d.paused[w.Ref()] = w
		d.Logger.Warn("a dry run does not end the pause of a workload", "workload", w.Ref().String(), "until", p.Until)
	}
	if d.DryRun {
		return
	}
	if !p.Begun {
		d.dropPauseLocked(w.Ref())
		return
	}
	d.paused[w.Ref()] = w
	d.resumeQ.AddAfter(w.Ref(), pauseLeft(p, time.Now()))
}

// resume ends the pause of a workload that is due.
func (d *Dispatcher) resume(ctx context.Context, ref reloader.WorkloadRef) time.Duration {
	d.mu.Lock()
	w, abandoned := d.paused[ref], d.abandoned[ref]
	d.mu.Unlock()
	if w == nil {
		return 0
	}
	p := d.planOf(w).Chosen.Pause
	if wait := pauseLeft(p, time.Now()); wait > 0 && !abandoned {
		return wait
	}
	resumed, err := d.Workloads.Roll(ctx, w, strategy.Roll{Ops: strategy.Resume(w, p.Key), FieldManager: workload.MarkManager})
	switch fateOf(err) {
	case fateDone:
		d.Logger.Info("pause ended", "workload", ref.String())
		d.notePause(resumed)
		d.refreshMarked(resumed)
		return 0
	case fateGone:
		d.dropPause(w)
		return 0
	case fateStale:
		live, readErr := d.Workloads.Read(ctx, ref)
		if fateOf(readErr) == fateGone {
			d.dropPause(w)
			return 0
		}
		if readErr == nil {
			d.notePause(live)
		}
	}
	d.Logger.Warn("pause could not be ended yet", "workload", ref.String(), "error", err)
	return again
}

// dropPause forgets the pause of w, which is gone, and not that of another workload of its name that was seen meanwhile.
func (d *Dispatcher) dropPause(w *workload.Workload) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.paused[w.Ref()] == w {
		d.dropPauseLocked(w.Ref())
	}
}

// dropPauseLocked forgets whatever pause there is of a workload. The caller holds mu.
func (d *Dispatcher) dropPauseLocked(ref reloader.WorkloadRef) {
	delete(d.paused, ref)
	delete(d.abandoned, ref)
}

// clockSkew is how far the clock of another process, such as one that began a pause or rolled a workload, may be ahead of ours.
const clockSkew = 5 * time.Minute

// pauseLeft returns how long p still lasts; a pause that says it begins in times to come is over.
func pauseLeft(p dialect.Pause, now time.Time) time.Duration {
	left := p.Until.Sub(now)
	if left < 0 || left > p.Period+clockSkew {
		return 0
	}
	return left
}

// refreshMarked takes note that we have written resumed under the name of who marks, which is no mark by others.
func (d *Dispatcher) refreshMarked(resumed *workload.Workload) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.index.get(resumed.Ref()); t != nil && !d.othersMarked(t, t.w) {
		t.markedAt = resumed.MarkedAt
	}
}

// pauseOps returns the operations that hold back the rollout of w, if it asks for that and is not paused already.
func (d *Dispatcher) pauseOps(w *workload.Workload) []strategy.Op {
	p := d.planOf(w).Chosen.Pause
	if p.Period == 0 || p.Begun || w.Paused {
		return nil
	}
	return strategy.Pause(w, p.Key, time.Now())
}

// pauseHold says until when the rollout of t is held back; nil if it is not. The caller holds mu.
func (d *Dispatcher) pauseHold(t *tracked) *reloader.Hold {
	p := d.planOf(t.w).Chosen.Pause
	if !p.Begun {
		return nil
	}
	return &reloader.Hold{Reason: reloader.ReasonPaused, Since: p.Until.Add(-p.Period), Due: p.Until}
}
