package dispatcher

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// rollout is what becomes of the last reload of a workload. Dispatcher.mu guards it.
type rollout struct {
	id string
	// reload is what is on record; nil if another process recorded it.
	reload *reloader.Reload
	state  reloader.Rollout
	// before is the revision of the template that the reload changed, and revision that of the reload's template; empty if not known. A
	// controller that had not seen the template before, or did nothing about it, has perhaps no other revision for the reload's than it had.
	before, revision string
}

func (r *rollout) result() reloader.Reason {
	if r == nil {
		return ""
	}
	return r.state.Result
}

func (r *rollout) rolling() bool { return r.result() == reloader.ReasonRolling }
func (r *rollout) stalled() bool { return r.result() == reloader.ReasonStalled }

// ended reports whether a workload with that rollout is done with its last reload: it has rolled out, or it is up to others whether it
// does. Whoever is not followed has ended.
func (r *rollout) ended() bool { return !r.rolling() && !r.stalled() }

// over reports whether nothing more can become of r.
func (r *rollout) over() bool {
	return r == nil || r.result() == reloader.ReasonRolledOut || r.result() == reloader.ReasonOvertaken
}

// judge says what the workload's progress means for r; Rolling if there is nothing to be said yet.
func (r *rollout) judge(p workload.Progress) (result reloader.Reason, message string) {
	fresh := p.Observed && p.Revision != "" && p.Revision != r.before
	if fresh && r.revision == "" && (r.before != "" || p.Phase != workload.Waiting) { // what waits may have got no revision yet
		r.revision = p.Revision
	}
	switch {
	case fresh && r.revision != "" && p.Revision != r.revision:
		return reloader.ReasonOvertaken, "its template was changed again"
	case p.Phase == workload.RolledOut && (fresh || r.before == "" || p.Revision == ""):
		return reloader.ReasonRolledOut, ""
	case p.Phase == workload.Stalled:
		return reloader.ReasonStalled, p.Why
	case p.Phase == workload.Waiting:
		return reloader.ReasonWaitingForOperator, p.Why
	}
	return reloader.ReasonRolling, ""
}

// follow begins to follow what becomes of reload r of t, which was that far before. It comes after r is recorded, since its
// controller may have ended it already. The caller holds mu.
func (d *Dispatcher) follow(t *tracked, before workload.Progress, r reloader.Reload) {
	if t.w.Progress.Phase == "" {
		t.rollout = nil
		return
	}
	t.rollout = &rollout{id: r.ID, state: reloader.Rollout{Result: reloader.ReasonRolling, StartedAt: r.PatchedAt}}
	if before.Observed && before.Phase != workload.Waiting {
		t.rollout.before = before.Revision
	}
	if r.PatchedAt.IsZero() {
		t.rollout.before, t.rollout.state.StartedAt = "", time.Now()
	} else {
		t.rollout.reload = &r
	}
	d.workloadQ.Add(t.w.Ref()) // for its deadline
	d.watchRollout(t)
}

// nextDeadline gives up a rollout whose deadline has passed, if nobody else gives it up, and returns how long until t has to be attended again although
// nothing happens; 0 if never. The caller holds mu.
func (d *Dispatcher) nextDeadline(t *tracked, now time.Time) time.Duration {
	wait := time.Duration(0)
	for _, e := range t.edges {
		if rest := e.rest.Sub(now); e.open && rest > 0 && (wait == 0 || rest < wait) {
			wait = rest
		}
	}
	if !t.rollout.rolling() || d.RolloutDeadline <= 0 {
		return wait
	}
	left := t.rollout.state.StartedAt.Add(d.RolloutDeadline).Sub(now)
	if pause := t.plan.Chosen.Pause; pause.Begun { // its time begins when the pause ends
		left = max(0, pause.Until.Sub(now)) + d.RolloutDeadline
	}
	if left > 0 {
		if wait == 0 || left < wait {
			wait = left
		}
		return wait
	}
	switch p := t.w.Progress; {
	case !p.Observed:
		d.decideRollout(t, reloader.ReasonStalled, fmt.Sprintf("its controller has not seen the template within %s", d.RolloutDeadline))
	case p.Phase == workload.RolledOut: // and still in the revision that there was before
		d.decideRollout(t, reloader.ReasonWaitingForOperator, fmt.Sprintf("its controller has begun no rollout within %s", d.RolloutDeadline))
	case !p.Timed:
		d.decideRollout(t, reloader.ReasonStalled, fmt.Sprintf("it has not rolled out within %s", d.RolloutDeadline))
	}
	return wait
}

// watchRollout looks how far t is. What waits or has stalled may still roll out, and what waits may go on. The caller holds mu.
func (d *Dispatcher) watchRollout(t *tracked) {
	if t.rollout.over() {
		return
	}
	p, was := t.w.Progress, t.rollout.result()
	result, message := t.rollout.judge(p)
	switch {
	case result == was:
	case result == reloader.ReasonRolling:
		if was == reloader.ReasonWaitingForOperator && p.Observed && p.Phase == workload.Rolling {
			t.rollout.state = reloader.Rollout{Result: reloader.ReasonRolling, StartedAt: time.Now()}
			d.recordQ.Add(t.w.Ref())
			d.workloadQ.Add(t.w.Ref())
		}
	case was == reloader.ReasonStalled && result != reloader.ReasonRolledOut:
	case result == reloader.ReasonWaitingForOperator && t.plan.Chosen.Pause.Begun: // we end that pause ourselves
	default:
		d.decideRollout(t, result, message)
	}
}

// overtake ends a rollout that something else has taken the place of. The caller holds mu.
func (d *Dispatcher) overtake(t *tracked, by string) {
	if !t.rollout.over() && !t.rollout.stalled() {
		d.decideRollout(t, reloader.ReasonOvertaken, by)
	}
}

// decideRollout has it recorded what became of the rollout of t, and lets go who waits for that. The caller holds mu.
func (d *Dispatcher) decideRollout(t *tracked, result reloader.Reason, message string) {
	r, ref := t.rollout, t.w.Ref()
	r.state.Result, r.state.Message, r.state.EndedAt = result, message, time.Now()
	d.logRollout(ref, r)
	if result == reloader.ReasonStalled {
		d.Announcer.Stalled(t.w, fmt.Sprintf("the rollout of reload %s, begun at %s, has stalled: %s",
			r.id, r.state.StartedAt.UTC().Format(time.RFC3339), message))
	}
	known := reloader.Reload{ID: r.id, Cluster: d.Cluster, Workload: ref}
	if r.reload != nil {
		known = *r.reload
	}
	state := r.state
	known.Rollout = &state
	d.metrics.RolledOut(state)
	d.records.finished[ref] = append(d.records.finished[ref], finished{w: t.w, reload: known})
	if r.over() {
		r.reload = nil
	}
	d.recordQ.Add(ref)
	d.nextAfter(t)
}
