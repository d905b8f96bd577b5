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

// owe schedules the end of a pause of w, if one was begun.
func (b *board) owe(w *workload.Workload, pause dialect.Pause) {
	ref := w.Ref()
	if !pause.Begun || b.DryRun {
		delete(b.paused, ref)
		return
	}
	b.paused[ref] = pausing{w: w}
	b.owedQ.AddAfter(ref, pauseLeft(pause, time.Now()))
}

// oweNow has the pause of a workload, if one was begun, ended now.
func (b *board) oweNow(ref reloader.WorkloadRef) {
	if p, known := b.paused[ref]; known {
		b.paused[ref] = pausing{p.w, true}
		b.owedQ.Add(ref)
	}
}

// pay ends a pause that is due.
func (d *tracker) pay(ctx context.Context, ref reloader.WorkloadRef) (time.Duration, error) {
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
	if err == nil {
		d.Logger.Info("pause ended", "workload", ref.String())
	} else if fateOf(err) == fateStale {
		w, err = d.Workloads.Read(ctx, ref)
	}
	b := d.lock()
	defer d.unlock()
	if err != nil && fateOf(err) != fateGone {
		return again, err
	}
	if err == nil && d.Dialects.Compile(w).Chosen.Pause.Begun {
		b.paused[ref] = pausing{w, p.now}
		return again, nil
	}
	if b.paused[ref].w == p.w { // and not another workload of its name that was seen meanwhile
		delete(b.paused, ref)
	}
	return 0, nil
}

// pauseLeft returns how long p still lasts; a pause that says it begins in times to come is over.
func pauseLeft(p dialect.Pause, now time.Time) time.Duration {
	left := p.Until.Sub(now)
	if left < 0 || left > p.Period+turn.ClockSkew {
		return 0
	}
	return left
}
