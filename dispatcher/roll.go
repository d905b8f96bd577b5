package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// roll rolls the workload of s by one write, which also says what it was rolled for. A conflict has everything read and decided again.
func (d *roller) roll(ctx context.Context, s *sitting, out plan.Outcome, verdicts map[reloader.Config]plan.Verdict) time.Duration {
	if s.w.Dormant && s.requested != "" && out.Do != plan.Roll {
		b := d.lock()
		served := s.t.state
		served.Requested = reloader.ValueID(s.requested)
		b.conclude(done{s: s, state: served, outcome: reloader.ReasonDormant})
		d.unlock()
		return d.note(ctx, s, out, verdicts)
	}
	did := done{s: s, verdicts: verdicts, rolled: out.Rolled, outcome: d.instead()}
	if did.outcome == reloader.ReasonReloaded && s.plan.Chosen.Hot != nil && s.requested == "" {
		outcome, wait := d.reload(ctx, &did)
		if outcome == "" {
			return wait
		}
		did.outcome = outcome
	}
	did.state = s.stateAfter(out, did.outcome)
	var err error
	switch did.outcome {
	case reloader.ReasonReloaded:
		did.text = s.says(did.state)
		did.patched, err = d.patch(ctx, did, out)
	case reloader.ReasonNotified:
		err = d.notify(ctx, did)
	}
	did.at = time.Now()
	switch fate := fateOf(err); {
	case errors.Is(err, errOutrun):
		return atOnce
	case fate == fateStale && apierrors.IsConflict(err):
		s.conflict, s.rolling = err, out.Rolled
		if err = d.tracker.reread(ctx, s.w.Ref()); err == nil {
			return atOnce
		}
	case fate == fateAgain:
		_ = d.tracker.reread(ctx, s.w.Ref()) // perhaps it was written, and the answer was lost
	}
	b := d.lock()
	t := s.t
	if err != nil && did.text != "" && t.text == did.text && t.state.N == did.state.N { // it was written, and the answer was lost
		did.patched, err = t.w, nil
	}
	if t.intends = ""; err == nil {
		b.conclude(did)
	}
	d.unlock()
	if err != nil {
		return d.holdBack(s, out.Rolled, err)
	}
	return atOnce
}

// stateAfter returns the State of the workload after a roll for out, or on request.
func (s *sitting) stateAfter(out plan.Outcome, outcome reloader.Reason) applied.State {
	after, before := out.State, s.state
	if out.Do != plan.Roll {
		after = after.Roll(s.began)
	}
	after.Rolls = paceOf(before).Rolled(s.began).Rolls
	after.Mark = mark.Hash(after.N, after.Contents())
	if s.requested != "" {
		after.Requested = reloader.ValueID(s.requested)
	}
	if outcome != reloader.ReasonReloaded {
		after.N, after.Mark = before.N, before.Mark // nothing was written on the workload
	}
	return after
}

// says returns what the annotation of the workload says after a roll.
func (s *sitting) says(after applied.State) string {
	if targetOf(s.w, s.plan).Kind == workload.Job.Kind {
		after.Workload = applied.NoUID // that of the Job that takes its place is not known yet
	}
	return after.Annotation()
}

// errOutrun ends a roll that is for another write of a config than the newest one that was seen: the marks are of that one.
var errOutrun = errors.New("a config was written meanwhile")

// patch writes on the workload what it is to run with.
func (d *roller) patch(ctx context.Context, did done, out plan.Outcome) (*workload.Workload, error) {
	s, after, p, target := did.s, did.state, did.s.plan, targetOf(did.s.w, did.s.plan)
	r := mark.Roll{Hash: after.Mark}
	if p.Chosen.Strategy == plan.Restart {
		r = mark.Restart(s.began)
	}
	r.Name, r.Annotations = after.Mark[:16], map[string]any{applied.Key: did.text}
	var err error
	if r.Marks, err = d.decider.marksFor(ctx, s, out); err != nil {
		return nil, err
	}
	if pause := p.Chosen.Pause; pause.Period > 0 && !pause.Begun && !s.w.Paused {
		r = r.Pause(pause.Key, time.Now())
	}
	intends := d.lock().intend(did)
	d.unlock()
	if !intends {
		return nil, errOutrun
	}
	rolled, err := d.Workloads.Roll(ctx, target, r)
	d.metrics.Attempted(fateOf(err))
	if err == nil && target != s.w {
		rolled = s.w.Through(rolled)
	}
	return rolled, err
}

// intend takes note of the roll that is about to be written, and reports whether it is for the newest writes that were seen.
func (b *board) intend(did done) bool {
	t := did.s.t
	for _, c := range did.rolled {
		if t.live(c, b.configs.of(c).now).Version != did.state.Writes.Get(c).Version {
			return false
		}
	}
	t.intends = did.text
	return true
}

// notify calls the webhook instead of a roll.
func (d *roller) notify(ctx context.Context, did done) error {
	asked := d.lock().scribe.rolled(did)
	d.unlock()
	asked.Outcome, asked.Message = reloader.ReasonReloaded, "" // that is what the other side is to make of it
	err := d.Webhook.Notify(ctx, asked)
	d.metrics.Attempted(fateOf(err))
	if err != nil {
		return fmt.Errorf("call webhook for %s: %w", did.s.w.Ref(), err)
	}
	return nil
}
