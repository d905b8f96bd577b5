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
func (d *roller) roll(ctx context.Context, s *sitting) time.Duration {
	s.outcome = d.instead()
	if s.outcome == reloader.ReasonReloaded && s.plan.Chosen.Hot != nil && s.requested == "" {
		outcome, wait := d.reload(ctx, s)
		if outcome == "" {
			return wait
		}
		s.outcome = outcome
	}
	s.out.State = s.stateAfter()
	var err error
	switch s.outcome {
	case reloader.ReasonReloaded:
		s.patched, err = d.patch(ctx, s)
	case reloader.ReasonNotified:
		err = d.notify(ctx, s)
	}
	switch fate := fateOf(err); {
	case errors.Is(err, errOutrun):
		return atOnce
	case fate == fateStale && apierrors.IsConflict(err):
		s.conflict = err
		if err = d.tracker.reread(ctx, s.w.Ref()); err == nil {
			return atOnce
		}
	case fate == fateAgain:
		_ = d.tracker.reread(ctx, s.w.Ref()) // perhaps it was written, and the answer was lost
	}
	b := d.lock()
	t := s.t
	if err != nil && t.intends != "" && t.text == t.intends && t.state.N == s.out.State.N { // it was written, and the answer was lost
		s.patched, err = t.w, nil
	}
	if t.intends = ""; err == nil {
		b.conclude(s)
	}
	d.unlock()
	if err != nil {
		return d.holdBack(s, err)
	}
	return atOnce
}

// stateAfter returns the State of the workload after a roll.
func (s *sitting) stateAfter() applied.State {
	after, before := s.out.State, s.state
	if len(s.out.Rolled) == 0 { // it was requested
		after = after.Roll(s.began)
	}
	after.Rolls = paceOf(before).Rolled(s.began).Rolls
	after.Mark = mark.Hash(after.N, after.Contents())
	if s.requested != "" {
		after.Requested = reloader.ValueID(s.requested)
	}
	if s.outcome != reloader.ReasonReloaded {
		after.N, after.Mark = before.N, before.Mark // nothing was written on the workload
	}
	return after
}

// errOutrun ends a roll that is for another write of a config than the newest one that was seen: the marks are of that one.
var errOutrun = errors.New("a config was written meanwhile")

// patch writes on the workload what it is to run with.
func (d *roller) patch(ctx context.Context, s *sitting) (*workload.Workload, error) {
	after, p, target := s.out.State, s.plan, targetOf(s.w, s.plan)
	if target.Kind == workload.Job.Kind {
		after.Workload = applied.NoUID // that of the Job that takes its place is not known yet
	}
	text := after.Annotation()
	r := mark.Roll{Hash: after.Mark}
	if p.Chosen.Strategy == plan.Restart {
		r = mark.Restart(s.began)
	}
	r.Name, r.Annotations = after.Mark[:16], map[string]any{applied.Key: text}
	var err error
	if r.Marks, err = d.decider.marksFor(ctx, s); err != nil {
		return nil, err
	}
	if pause := p.Chosen.Pause; pause.Period > 0 && !pause.Begun && !s.w.Paused {
		r = r.Pause(pause.Key, time.Now())
	}
	intends := d.lock().intend(s, text)
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

// intend takes note of the annotation that is about to be written, and reports whether the roll is for the newest writes that were seen.
func (b *board) intend(s *sitting, text string) bool {
	for _, c := range s.out.Rolled {
		if s.t.live(c, b.configs.of(c).now).Version != s.verdicts[c].Write.Version {
			return false
		}
	}
	s.t.intends = text
	return true
}

// notify calls the webhook instead of a roll.
func (d *roller) notify(ctx context.Context, s *sitting) error {
	asked := d.lock().scribe.rolled(s)
	d.unlock()
	asked.Outcome, asked.Message = reloader.ReasonReloaded, "" // that is what the other side is to make of it
	err := d.Webhook.Notify(ctx, asked)
	d.metrics.Attempted(fateOf(err))
	if err != nil {
		return fmt.Errorf("call webhook for %s: %w", s.w.Ref(), err)
	}
	return nil
}
