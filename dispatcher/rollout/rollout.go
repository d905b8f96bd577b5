// Package rollout says what becomes of the last reload of a workload: its controller has rolled it out, has given up, waits for an operator, or another
// template took its place.
//
// The package takes values and returns values. The caller follows the progress of the workload, keeps a Rollout with it, and records how it ends.
package rollout

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Rollout follows one reload. A nil Rollout is not followed, and is over.
type Rollout struct {
	// ID is that of the reload.
	ID    string
	State reloader.Rollout
	// before is the revision of the template that the reload changed, and revision that of the reload's template; empty if not known. A
	// controller that had not seen the template before, or did nothing about it, has perhaps no other revision for the reload's than it had.
	before, revision string
	// explained says that the cause of a stall was looked for, or that another process follows the reload from the start.
	explained bool
}

// Unexplained reports whether r has stalled without a known cause.
func (r *Rollout) Unexplained() bool { return r.Stalled() && !r.explained }

// Explain adds the cause of the stall to what is said; empty if it was not found.
func (r *Rollout) Explain(cause string) {
	if r.explained = true; cause != "" {
		r.State.Message += ": " + cause
	}
}

// End is how a rollout ends, or that it continues: the zero End says nothing new.
type End struct {
	Result  reloader.Reason
	Message string
}

// Of returns the rollout of a reload that was made; before is the progress of the workload before that.
func Of(made reloader.Reload, before workload.Progress, now time.Time) *Rollout {
	r := &Rollout{ID: made.ID, State: reloader.Rollout{Result: reloader.ReasonRolling, StartedAt: made.PatchedAt}}
	if made.PatchedAt.IsZero() {
		r.State.StartedAt, r.explained = now, true
		return r
	}
	if before.Observed && before.Phase != workload.Waiting || before.Manual != "" {
		r.before = before.Revision
	}
	return r
}

// Recorded returns the rollout of a reload that an earlier process has on record. The clock of that process may have been ahead.
func Recorded(id string, state reloader.Rollout, now time.Time) *Rollout {
	state.StartedAt = reloader.Earlier(state.StartedAt, now)
	return &Rollout{ID: id, State: state, explained: true}
}

// Result returns how far r is; empty if it is not followed.
func (r *Rollout) Result() reloader.Reason {
	if r == nil {
		return ""
	}
	return r.State.Result
}

// Rolling reports whether pods of the reload are still to come.
func (r *Rollout) Rolling() bool { return r.Result() == reloader.ReasonRolling }

// Stalled reports whether the controller has given up.
func (r *Rollout) Stalled() bool { return r.Result() == reloader.ReasonStalled }

// Ended reports whether a workload with that rollout is done with its last reload: it has rolled out, or others decide whether it does.
func (r *Rollout) Ended() bool { return !r.Rolling() && !r.Stalled() }

// Over reports whether nothing more can become of r.
func (r *Rollout) Over() bool {
	return r == nil || r.Result() == reloader.ReasonRolledOut || r.Result() == reloader.ReasonOvertaken
}

// Watch says what the progress of the workload means for r. A stalled rollout may still complete, and a waiting one may continue: then r
// is restarted, as the second result says. ours says that Reroll itself has paused the workload.
func (r *Rollout) Watch(p workload.Progress, ours bool, now time.Time) (end End, restarted bool) {
	if r.Over() {
		return End{}, false
	}
	if p.Manual != "" && r.before == "" {
		r.before = p.Revision // no start of the rollout is known
	}
	was := r.Result()
	end = r.judge(p)
	switch {
	case end.Result == was, was == reloader.ReasonStalled && end.Result != reloader.ReasonRolledOut, end.Result == reloader.ReasonWaitingForOperator && ours:
		return End{}, false
	case end.Result == reloader.ReasonRolling:
		if restarted = was == reloader.ReasonWaitingForOperator && p.Observed && p.Phase == workload.Rolling; restarted {
			r.State = reloader.Rollout{Result: reloader.ReasonRolling, StartedAt: now}
		}
		return End{}, restarted
	}
	return end, false
}

// judge says what p means for r; Rolling if it says nothing yet.
func (r *Rollout) judge(p workload.Progress) End {
	fresh := p.Observed && p.Revision != "" && p.Revision != r.before
	if fresh && r.revision == "" && (r.before != "" || p.Phase != workload.Waiting) { // a waiting rollout may have no revision yet
		r.revision = p.Revision
	}
	switch {
	case fresh && r.revision != "" && p.Revision != r.revision:
		return End{reloader.ReasonOvertaken, "its template was changed again"}
	case p.Manual != "" && p.Observed && !fresh:
		return End{reloader.ReasonWaitingForOperator, p.Manual}
	case p.Phase == workload.RolledOut && (fresh || r.before == "" || p.Revision == ""):
		return End{reloader.ReasonRolledOut, ""}
	case p.Phase == workload.Stalled:
		return End{reloader.ReasonStalled, p.Why}
	case p.Phase == workload.Waiting:
		return End{reloader.ReasonWaitingForOperator, p.Why}
	}
	return End{Result: reloader.ReasonRolling}
}

// Expired says how r ends because its deadline has passed, if its controller does not say so itself.
func (r *Rollout) Expired(p workload.Progress, deadline time.Duration) End {
	switch {
	case p.Observed && p.Phase == workload.RolledOut: // and still in the revision that there was before
		return End{reloader.ReasonWaitingForOperator, fmt.Sprintf("its controller has begun no rollout within %s", deadline)}
	case !p.Observed || !p.Timed:
		return End{reloader.ReasonStalled, fmt.Sprintf("it has not rolled out within %s", deadline)}
	}
	return End{}
}
