package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/rollout"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// rollouts follows what becomes of reloads.
type rollouts struct {
	*common
	records *records
	gate    *gate
}

// follow has a reload of t recorded, which was w before, and begins to follow what becomes of it. It is recorded first, since its controller may have
// ended it already.
func (f *rollouts) follow(t *tracked, w *workload.Workload, made reloader.Reload) {
	f.overtake(t, "another reload followed")
	f.records.finish(w, made)
	t.reload = made.ID
	if t.rollout = nil; t.w.Progress.Phase == "" {
		return
	}
	t.rollout = rollout.Of(made, w.Progress, time.Now())
	f.workloadQ.Add(t.w.Ref()) // for its deadline
	f.watch(t)
}

// deadline gives up a rollout whose deadline has passed, unless its controller does, and returns how long until then; 0 if never.
func (f *rollouts) deadline(t *tracked, now time.Time) time.Duration {
	if !t.rollout.Rolling() || f.RolloutDeadline <= 0 {
		return 0
	}
	left := t.rollout.State.StartedAt.Add(f.RolloutDeadline).Sub(now)
	if pause := t.plan.Chosen.Pause; pause.Begun { // its time begins when the pause ends
		left = max(0, pause.Until.Sub(now)) + f.RolloutDeadline
	}
	if left > 0 {
		return left
	}
	f.end(t, t.rollout.Expired(t.w.Progress, f.RolloutDeadline))
	return 0
}

// watch looks how far t is.
func (f *rollouts) watch(t *tracked) {
	end, restarted := t.rollout.Watch(t.w.Progress, t.plan.Chosen.Pause.Begun, time.Now())
	if restarted {
		f.recordQ.Add(t.w.Ref())
		f.workloadQ.Add(t.w.Ref())
	}
	if r := t.rollout; (end.Result == reloader.ReasonOvertaken || r.Result() == reloader.ReasonRolledOut) && !r.State.Undone && !t.marked(t.w) {
		r.State.Undone = true
		f.recordQ.Add(t.w.Ref())
	}
	f.end(t, end)
}

// overtake ends a rollout that something else has taken the place of.
func (f *rollouts) overtake(t *tracked, by string) {
	if !t.rollout.Over() && !t.rollout.Stalled() {
		f.end(t, rollout.End{Result: reloader.ReasonOvertaken, Message: by})
	}
}

// end has it recorded what became of the rollout of t, and lets go who waits for that.
func (f *rollouts) end(t *tracked, end rollout.End) {
	if end.Result == "" {
		return
	}
	r, ref := t.rollout, t.w.Ref()
	r.State.Result, r.State.Message, r.State.EndedAt = end.Result, end.Message, time.Now()
	f.Logger.Info("rollout", "workload", ref.String(), "result", end.Result, "reload", r.ID, "message", end.Message)
	f.metrics.RolledOut(r.State)
	if f.gate.nextAfter(t); r.Unexplained() {
		f.recordQ.Add(ref)
		return
	}
	f.conclude(t)
}

// conclude has it recorded what became of the rollout of t.
func (f *rollouts) conclude(t *tracked) {
	r := t.rollout
	if r.Stalled() {
		f.Announcer.Stalled(t.w, fmt.Sprintf("the rollout of reload %s, begun at %s, has stalled: %s",
			r.ID, r.State.StartedAt.UTC().Format(time.RFC3339), r.State.Message))
	}
	id, state := r.ID, r.State
	f.records.add(finished{w: t.w, amend: func(last reloader.Reload) (reloader.Reload, bool) {
		last.Rollout = &state
		return last, last.ID == id // otherwise something else has followed
	}})
}

// explain adds to what is said of a stalled rollout why its pods do not start, if they may be read.
func (d *keeper) explain(ctx context.Context, ref reloader.WorkloadRef) {
	b := d.lock()
	t := b.index.byRef[ref]
	if t == nil || !t.rollout.Unexplained() {
		d.unlock()
		return
	}
	w, r := t.w, t.rollout
	d.unlock()
	pods, err := d.Workloads.Pods(ctx, w)
	if err != nil {
		d.Logger.Debug("the pods of a stalled rollout cannot be read", "workload", ref.String(), "error", err)
	}
	b = d.lock()
	defer d.unlock()
	if b.index.byRef[ref] == t && t.rollout == r && r.Unexplained() {
		r.Explain(pods.Stuck())
		b.rollouts.conclude(t)
	}
}
