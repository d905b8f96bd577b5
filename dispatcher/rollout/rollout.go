// Package rollout follows the rollout after a roll, and finds what a workload lacks.
//
// The package takes values and returns values. The caller passes the time, calls See with each update of the workload and at the time that See
// returned, and records the state when it has changed.
package rollout

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Rollout is how far the rollout after the last roll of a workload is.
type Rollout struct {
	// State is what the records say.
	State reloader.Rollout
	// Before is the revision of the template before the roll, and Revision that of the roll's template; empty if unknown. A controller that has not
	// seen the template, or did nothing about it, reports no other revision than before.
	Before, Revision string
	// Paused is Seen.Paused of the last update.
	Paused bool
}

// Seen is what an update of the workload shows.
type Seen struct {
	Progress workload.Progress
	// Marked reports whether the pod template still has the mark of the roll. It is true if the roll left no mark there.
	Marked bool
	// Paused reports whether Reroll itself holds the rollout back for a pause period. It ends that pause by a write.
	Paused bool
}

// Begin returns the rollout after a roll that this process made. before is the progress of the workload until then.
func Begin(before workload.Progress, now time.Time) Rollout {
	r := Rollout{State: reloader.Rollout{Result: reloader.ReasonRolling, StartedAt: now}}
	if before.Observed && before.Phase != workload.Waiting { // a workload that waits may have got no revision for its template
		r.Before = before.Revision
	}
	return r
}

// Resume returns the rollout after a roll that another process made. state is what is on record; without a record, it has the time of the roll.
func Resume(state reloader.Rollout, now time.Time) Rollout {
	if state.Result == "" {
		state.Result = reloader.ReasonRolling
	}
	if state.StartedAt.After(now) { // the clock of that process was ahead
		state.StartedAt = now
	}
	return Rollout{State: state}
}

// Over reports whether nothing changes the result any more. A rollout that has stalled, or waits for an operator, may still end.
func (r Rollout) Over() bool {
	return r.State.Result == reloader.ReasonRolledOut || r.State.Result == reloader.ReasonOvertaken
}

func (r Rollout) is(result reloader.Reason) bool { return r.State.Result == result }

// See returns r after an update of the workload that is no older than the roll, and when to call See again without one; zero if only an update
// brings news. deadline is how long a
// rollout may take whose controller has no deadline of its own; 0 for any time.
func (r Rollout) See(s Seen, deadline time.Duration, now time.Time) (Rollout, time.Time) {
	if r.Over() {
		return r, time.Time{}
	}
	if !s.Marked {
		return r.Overtake("its template does not have the mark of this roll any more", now), time.Time{}
	}
	r = r.pause(s.Paused, now)
	r, result, message := r.judge(s.Progress)
	switch {
	case r.is(result), r.is(reloader.ReasonStalled) && result != reloader.ReasonRolledOut:
	case result == reloader.ReasonRolling:
		if r.is(reloader.ReasonWaitingForOperator) && s.Progress.Observed && s.Progress.Phase == workload.Rolling {
			r.State = reloader.Rollout{Result: reloader.ReasonRolling, StartedAt: now} // an operator let it continue
		}
	case result == reloader.ReasonWaitingForOperator && r.Paused: // Reroll itself ends that pause
	default:
		r = r.decide(result, message, now)
	}
	if !r.is(reloader.ReasonRolling) || deadline <= 0 || r.Paused {
		return r, time.Time{}
	}
	if due := r.State.StartedAt.Add(deadline); due.After(now) {
		return r, due
	}
	return r.expire(s.Progress, deadline, now), time.Time{}
}

// Overtake returns r after another template took the place of the roll's, or the workload is gone. A rollout that has stalled stays so: that it
// failed is not undone.
func (r Rollout) Overtake(by string, now time.Time) Rollout {
	if r.Over() || r.is(reloader.ReasonStalled) {
		return r
	}
	return r.decide(reloader.ReasonOvertaken, by, now)
}

// judge returns what the progress of the workload means for r; Rolling if nothing is decided.
func (r Rollout) judge(p workload.Progress) (after Rollout, result reloader.Reason, message string) {
	fresh := p.Observed && p.Revision != "" && p.Revision != r.Before
	if fresh && r.Revision == "" && (r.Before != "" || p.Phase != workload.Waiting) { // a workload that waits may have got no revision yet
		r.Revision = p.Revision
	}
	switch {
	case fresh && r.Revision != "" && p.Revision != r.Revision:
		return r, reloader.ReasonOvertaken, "its template was changed again"
	case p.Phase == workload.RolledOut && (fresh || r.Before == "" || p.Revision == ""):
		return r, reloader.ReasonRolledOut, ""
	case p.Phase == workload.Stalled:
		return r, reloader.ReasonStalled, p.Why
	case p.Phase == workload.Waiting:
		return r, reloader.ReasonWaitingForOperator, p.Why
	}
	return r, reloader.ReasonRolling, ""
}

// pause returns r with its time beginning again when a pause period ends.
func (r Rollout) pause(paused bool, now time.Time) Rollout {
	if r.Paused && !paused && r.is(reloader.ReasonRolling) {
		r.State.StartedAt = now
	}
	r.Paused = paused
	return r
}

// expire returns r after its deadline, unless the controller gives it up by itself.
func (r Rollout) expire(p workload.Progress, deadline time.Duration, now time.Time) Rollout {
	switch {
	case !p.Observed:
		return r.decide(reloader.ReasonStalled, fmt.Sprintf("its controller has not seen the template within %s", deadline), now)
	case p.Phase == workload.RolledOut: // and still in the revision before
		return r.decide(reloader.ReasonWaitingForOperator, fmt.Sprintf("its controller has begun no rollout within %s", deadline), now)
	case !p.Timed:
		return r.decide(reloader.ReasonStalled, fmt.Sprintf("it has not rolled out within %s", deadline), now)
	}
	return r
}

func (r Rollout) decide(result reloader.Reason, message string, now time.Time) Rollout {
	r.State.Result, r.State.Message, r.State.EndedAt = result, message, now
	return r
}
