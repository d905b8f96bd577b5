package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// done is a roll that was made: what became of the workload, and the State that says so.
type done struct {
	s        *sitting
	verdicts map[reloader.Config]plan.Verdict
	rolled   []reloader.Config
	state    applied.State
	// patched is the workload after the patch; nil if nothing was written on it.
	patched *workload.Workload
	outcome reloader.Reason
	at      time.Time
}

// roll rolls the workload of s by one write, which also says what it was rolled for. A conflict has everything read and decided again.
func (d *Dispatcher) roll(ctx context.Context, s *sitting, out plan.Outcome, verdicts map[reloader.Config]plan.Verdict) next {
	if s.w.Dormant != "" && s.requested != "" && out.Do != plan.Roll {
		d.concludeRequest(s, s.w.Dormant)
		return d.note(ctx, s, out, verdicts)
	}
	did := done{s: s, verdicts: verdicts, rolled: out.Rolled, state: d.stateAfter(s, out), outcome: d.instead()}
	r, err := d.rollOf(ctx, s, out, did.state)
	if err != nil {
		return next{wait: d.holdBack(s, out.Rolled, err)}
	}
	if d.outrun(s, out) {
		return next{atOnce: true}
	}
	did.patched, err = d.execute(ctx, s, r, did)
	did.at = time.Now()
	switch fateOf(err) {
	case fateDone:
		d.conclude(did)
		return next{atOnce: true}
	case fateGone:
		d.forgetGone(s.t, s.w.Ref())
		return next{}
	case fateStale:
		if apierrors.IsConflict(err) {
			conflict := err
			if err = d.reread(ctx, s); err == nil {
				return next{atOnce: true, held: func() time.Duration { return d.calm(s, out.Rolled, conflict) }}
			}
		}
	case fateAgain:
		_ = d.reread(ctx, s) // perhaps it was written, and the answer was lost
	}
	d.mu.Lock()
	written := did.state.N > 0 && s.t.state.N == did.state.N && s.t.object.N == did.state.N
	s.t.intends = 0
	if written {
		did.patched = s.t.w
	}
	d.mu.Unlock()
	if written {
		d.conclude(did)
		return next{atOnce: true}
	}
	return next{wait: d.holdBack(s, out.Rolled, err)}
}

// outrun reports whether a config was seen with another write than the one that the workload is to be rolled for: the marks are of that one.
func (d *Dispatcher) outrun(s *sitting, out plan.Outcome) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(out.Rolled, func(c reloader.Config) bool {
		return d.liveOf(s.t, c, d.entry(c).now).Version != out.State.Writes[c].Version
	})
}

// calm holds back a workload that has moved each time it was to be rolled, and leaves it alone for a while, however often it moves meanwhile.
func (d *Dispatcher) calm(s *sitting, rolling []reloader.Config, conflict error) time.Duration {
	wait := d.holdBack(s, rolling, conflict)
	d.mu.Lock()
	defer d.mu.Unlock()
	s.t.calm = time.Now().Add(min(longestRest, firstRest<<min(s.t.attempts, 20)))
	return wait
}

// stateAfter returns the State of the workload after a roll for out, or for what somebody requested.
func (d *Dispatcher) stateAfter(s *sitting, out plan.Outcome) applied.State {
	after := out.State
	if out.Do != plan.Roll {
		after = after.Roll(s.began)
	}
	pace := turn.Pace{Rolls: s.state.Rolls, At: s.state.At}.Rolled(s.began)
	after.Rolls = pace.Rolls
	after.Mark = hashOfState(after)
	if s.requested != "" {
		after.Requested = reloader.ValueID(s.requested)
	}
	if d.instead() != reloader.ReasonReloaded {
		after.N = s.state.N // nothing was written on the workload
	}
	return after
}

// rollOf returns what is written.
func (d *Dispatcher) rollOf(ctx context.Context, s *sitting, out plan.Outcome, after applied.State) (mark.Roll, error) {
	if d.instead() != reloader.ReasonReloaded {
		return mark.Roll{}, nil
	}
	said := after
	target := targetOf(s.w, s.plan)
	if target.Kind == workload.Job.Kind {
		said.Workload = applied.NoUID // that of the Job that takes its place is not known yet
	}
	hash := after.Mark
	r := mark.Roll{Hash: hash}
	if s.plan.Chosen.Strategy == plan.Restart {
		r = mark.Restart(s.began)
	}
	r.Name = hash[:16]
	r.Annotations = map[string]any{applied.Key: said.Annotation()}
	marks, err := d.marksFor(ctx, s, out)
	if err != nil {
		return r, err
	}
	r.Marks = marks
	if p := s.plan.Chosen.Pause; p.Period > 0 && !p.Begun && !s.w.Paused {
		r = r.Pause(p.Key, time.Now())
	}
	return r, nil
}

// execute makes the roll in the way of the installation: by a patch, by a call of the webhook, or not at all in a dry run.
func (d *Dispatcher) execute(ctx context.Context, s *sitting, r mark.Roll, did done) (*workload.Workload, error) {
	switch did.outcome {
	case reloader.ReasonDryRun:
		return nil, nil
	case reloader.ReasonNotified:
		d.mu.Lock()
		asked := d.newReload(did)
		d.mu.Unlock()
		asked.Outcome, asked.Message = reloader.ReasonReloaded, "" // that is what the other side is to make of it
		err := d.Webhook.Notify(ctx, asked)
		d.metrics.Attempted(attempts[fateOf(err)])
		if err != nil {
			return nil, fmt.Errorf("call webhook for %s: %w", s.w.Ref(), err)
		}
		return nil, nil
	}
	d.mu.Lock()
	s.t.intends = did.state.N
	d.mu.Unlock()
	target := targetOf(s.w, s.plan)
	rolled, err := d.Workloads.Roll(ctx, target, r)
	d.metrics.Attempted(attempts[fateOf(err)])
	if err == nil && target != s.w {
		rolled = s.w.Through(rolled)
	}
	return rolled, err
}

// reread brings t up to date.
func (d *Dispatcher) reread(ctx context.Context, s *sitting) error {
	live, err := d.Workloads.Read(ctx, s.w.Ref())
	if err != nil {
		return fmt.Errorf("read %s again: %w", s.w.Ref(), err)
	}
	d.Track(live)
	return nil
}

// instead returns the outcome of what is decided to roll.
func (d *Dispatcher) instead() reloader.Reason {
	switch {
	case d.DryRun:
		return reloader.ReasonDryRun
	case d.Webhook != nil:
		return reloader.ReasonNotified
	}
	return reloader.ReasonReloaded
}
