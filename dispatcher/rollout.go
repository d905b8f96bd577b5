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

// ended reports whether a workload with that rollout is done with its last reload: it has rolled out, or it is up to others whether it
// does. Whoever is not followed has ended.
func (r *rollout) ended() bool { return r == nil || !r.rolling() && !r.stalled() }

func (r *rollout) rolling() bool { return r != nil && r.state.Result == reloader.ReasonRolling }
func (r *rollout) stalled() bool { return r != nil && r.state.Result == reloader.ReasonStalled }
func (r *rollout) waiting() bool {
	return r != nil && r.state.Result == reloader.ReasonWaitingForOperator
}

// over reports whether nothing more can become of r.
func (r *rollout) over() bool {
	return r == nil || r.state.Result == reloader.ReasonRolledOut || r.state.Result == reloader.ReasonOvertaken
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

// supersede ends the rollout that a reload of t takes the place of, and returns what is to be followed. It comes before anything of what was
// decided with that reload is recorded, so that the reload before is the last word about t by then. The caller holds mu.
func (d *Dispatcher) supersede(t *tracked) *tracked {
	if now := d.index.get(t.w.Ref()); now != nil && now.w.UID == t.w.UID {
		t = now // a workload that is made anew may have been seen before we are told so
	}
	d.overtake(t, "another reload followed")
	return t
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
	d.awaitRollout(t)
	d.watchRollout(t)
}

// resumeRollout goes on following what an earlier process followed. The caller holds mu.
func (d *Dispatcher) resumeRollout(t *tracked, r reloader.WorkloadRecord) {
	if r.Rollout == nil {
		return
	}
	t.rollout = &rollout{id: r.LastReload, state: *r.Rollout}
	t.rollout.state.StartedAt = earlier(r.Rollout.StartedAt, time.Now()) // that clock may have been ahead
	d.awaitRollout(t)
}

// awaitRollout has the deadline of t looked at when it is due. The caller holds mu.
func (d *Dispatcher) awaitRollout(t *tracked) {
	if t.rollout.rolling() && d.RolloutDeadline > 0 {
		d.rolloutQ.AddAfter(t.w.Ref(), max(time.Millisecond, time.Until(t.rollout.state.StartedAt.Add(d.RolloutDeadline))))
	}
}

// rolloutDue gives up a rollout whose deadline has passed, if nobody else gives it up.
func (d *Dispatcher) rolloutDue(ref reloader.WorkloadRef) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.index.get(ref)
	if t == nil || !t.rollout.rolling() {
		return 0
	}
	if wait := time.Until(t.rollout.state.StartedAt.Add(d.RolloutDeadline)); wait > 0 {
		return wait
	}
	if pause := d.planOf(t.w).Chosen.Pause; pause.Begun {
		return max(0, time.Until(pause.Until)) + d.RolloutDeadline // its time begins when the pause ends
	}
	switch p := t.w.Progress; {
	case !p.Observed:
		d.decideRollout(t, reloader.ReasonStalled, fmt.Sprintf("its controller has not seen the template within %s", d.RolloutDeadline))
	case p.Phase == workload.RolledOut: // and still in the revision that there was before
		d.decideRollout(t, reloader.ReasonWaitingForOperator, fmt.Sprintf("its controller has begun no rollout within %s", d.RolloutDeadline))
	case !p.Timed:
		d.decideRollout(t, reloader.ReasonStalled, fmt.Sprintf("it has not rolled out within %s", d.RolloutDeadline))
	}
	return 0
}

// watchRollout looks how far t is. What waits or has stalled may still roll out, and what waits may go on. The caller holds mu.
func (d *Dispatcher) watchRollout(t *tracked) {
	if t.rollout.over() {
		return
	}
	p := t.w.Progress
	result, message := t.rollout.judge(p)
	switch {
	case result == t.rollout.state.Result:
	case result == reloader.ReasonRolling:
		if t.rollout.waiting() && p.Observed && p.Phase == workload.Rolling {
			d.goOn(t)
		}
	case t.rollout.stalled() && result != reloader.ReasonRolledOut:
	case result == reloader.ReasonWaitingForOperator && d.planOf(t.w).Chosen.Pause.Begun: // we end that pause ourselves
	default:
		d.decideRollout(t, result, message)
	}
}

// goOn has the rollout of t, which waited for somebody, begin anew, with the time that any rollout has. The caller holds mu.
func (d *Dispatcher) goOn(t *tracked) {
	t.rollout.state = reloader.Rollout{Result: reloader.ReasonRolling, StartedAt: time.Now()}
	d.settleQ.Add(t.w.Ref())
	d.awaitRollout(t)
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
	d.metrics.ended(known)
	d.finished[ref] = append(d.finished[ref], finished{w: t.w, reload: known})
	if r.over() {
		r.reload = nil
	}
	d.settleQ.Add(ref)
	d.nextAfter(t)
}
