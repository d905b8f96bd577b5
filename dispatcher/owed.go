package dispatcher

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// A pause lives on the workload alone: the patch that marks a Deployment also pauses it and says since when, and anyone who sees that
// annotation ends the pause when it is due. So it survives every process, and also the workload's opting out.

// paused has the workloads whose pause must be ended, opted in or not.
type paused map[reloader.WorkloadRef]pausing

type pausing struct {
	w *workload.Workload
	// now says that the pause ends at once: the workload is not ours any more, and a later process will not see it.
	now bool
}

// payer ends pauses.
type payer struct {
	*common
	*memory
}

// note schedules the end of a pause of w, if one was begun.
func (d *payer) note(w *workload.Workload, pause dialect.Pause) {
	ref := w.Ref()
	b := d.lock()
	defer d.unlock()
	switch {
	case !pause.Begun:
		delete(b.paused, ref)
		return
	case !d.DryRun:
		d.owedQ.AddAfter(ref, pauseLeft(pause, time.Now()))
	}
	b.paused[ref] = pausing{w: w}
}

// abandon has the pause of a workload, if one was begun, ended now.
func (d *payer) abandon(ref reloader.WorkloadRef) {
	b := d.lock()
	defer d.unlock()
	if p, known := b.paused[ref]; known && !d.DryRun {
		b.paused[ref] = pausing{p.w, true}
		d.owedQ.Add(ref)
	}
}

func (d *payer) pay(ctx context.Context, ref reloader.WorkloadRef) (time.Duration, error) {
	p, known := d.lock().paused[ref]
	d.unlock()
	if !known {
		return 0, nil
	}
	pause := d.Dialects.Compile(p.w).Chosen.Pause
	if wait := pauseLeft(pause, time.Now()); wait > 0 && !p.now {
		return wait, nil
	}
	w, err := d.Workloads.Roll(ctx, p.w, mark.Resume(pause.Key))
	resumed := err == nil
	if fateOf(err) == fateStale {
		w, err = d.Workloads.Read(ctx, ref)
	}
	switch {
	case fateOf(err) == fateGone:
		b := d.lock()
		defer d.unlock()
		if b.paused[ref].w == p.w { // and not another workload of its name that was seen meanwhile
			delete(b.paused, ref)
		}
		return 0, nil
	case err == nil:
		d.note(w, d.Dialects.Compile(w).Chosen.Pause)
	}
	if resumed {
		d.Logger.Info("pause ended", "workload", ref.String())
		return 0, nil
	}
	if p.now {
		d.abandon(ref)
	}
	return again, err
}

// pauseLeft returns how long p still lasts; a pause that says it begins in times to come is over.
func pauseLeft(p dialect.Pause, now time.Time) time.Duration {
	left := p.Until.Sub(now)
	if left < 0 || left > p.Period+turn.ClockSkew {
		return 0
	}
	return left
}
