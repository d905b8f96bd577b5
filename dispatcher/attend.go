package dispatcher

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// roller attends to workloads: what is new about one is decided, and what is behind waits for its turn and is rolled.
type roller struct {
	*common
	*memory
	decider *decider
	tracker *tracker
	keeper  *keeper
}

// maxRereads is how often in a row a workload that moved under our hands is read and decided again before it has to wait.
const maxRereads = 5

// atOnce says that the workload must be attended again now.
const atOnce time.Duration = -2

// attend does what is due for one workload, and returns how long until it has to be attended again. No two calls are about the same workload.
func (d *roller) attend(ctx context.Context, ref reloader.WorkloadRef) (time.Duration, error) {
	t := d.tracker.trackedBy(ref)
	if t == nil {
		return 0, nil
	}
	if err := d.decider.expand(ctx, t); err != nil {
		return 0, fmt.Errorf("attend to %s: %w", ref, err)
	}
	released := d.release(ctx, t)
	var s *sitting
	for range maxRereads + 1 {
		if err := d.keeper.readLedger(ctx, ref.Namespace); err != nil {
			return 0, fmt.Errorf("attend to %s: %w", ref, err)
		}
		var wait time.Duration
		if s, wait = d.sit(t); s != nil {
			wait = d.step(ctx, s)
		}
		if wait != atOnce {
			return cmp.Or(released, wait), nil
		}
		if d.tracker.trackedBy(ref) != t {
			return time.Millisecond, nil // it was replaced, or opted out
		}
	}
	if s.conflict == nil {
		return again, nil
	}
	return d.holdBack(s, s.conflict), nil
}

// sitting is one step of attend: a version of the workload, the configs that are decided about, and what comes of that.
type sitting struct {
	t *tracked
	// w, plan and state are those of t when the step began; state is read again when everything is decided.
	w     *workload.Workload
	plan  *dialect.Plan
	state applied.State
	// configs are decided about, each with how often it had been opened. due says that what is behind is among them, and may roll now.
	configs map[reloader.Config]int
	due     bool
	// requested is the value of RequestedAnnotation that asks for a roll.
	requested string
	// after is when the State became known: no look that began before it counts.
	after time.Time
	began time.Time
	// verdicts are those about configs, and out is what they say together. Its State is the one after the roll once that is made.
	verdicts map[reloader.Config]plan.Verdict
	out      plan.Outcome
	// outcome is what became of the roll, and why says why the workload rolls although it asks for a reload of its running pods; empty if it does not.
	outcome reloader.Reason
	why     string
	// patched is the workload after the patch; nil if nothing was written on it.
	patched *workload.Workload
	// conflict has the workload wait if it moves each time.
	conflict error
}

// step decides what is new about a workload. If there is nothing new, it rolls what is behind and due. It returns when the workload must be attended again.
func (d *roller) step(ctx context.Context, s *sitting) time.Duration {
	t := s.t
	if s.due {
		defer func() { // it is not about to roll any more, and others may wait for its place
			b := d.lock()
			defer d.unlock()
			t.going = false
			b.gate.nextAfter(t)
		}()
	}
	failed := d.decider.decide(ctx, s)
	d.lock()
	moved := t.state.N != s.state.N
	s.state = t.state
	s.out = plan.Together(string(t.target().UID), t.state, s.verdicts, s.began)
	d.unlock()
	switch {
	case moved:
		return atOnce // another process has rolled it
	case s.due && (len(s.out.Rolled) > 0 || s.requested != "" && !s.w.Dormant):
		return d.roll(ctx, s)
	case s.due && failed != nil && len(s.verdicts) == 0:
		return d.holdBack(s, failed)
	}
	return d.note(ctx, s)
}

// sit returns what must be decided about t now, or how long to wait for that.
func (d *roller) sit(t *tracked) (*sitting, time.Duration) {
	b := d.lock()
	defer d.unlock()
	now := time.Now()
	s := &sitting{t: t, w: t.w, plan: t.plan, state: t.state, configs: t.open(now, false), after: t.since, began: now}
	if len(s.configs) > 0 {
		return s, 0
	}
	if t.asked() {
		if d.ready.Load() == nil {
			return nil, unreadyTime
		}
		s.requested = t.w.Annotations[RequestedAnnotation]
	}
	s.configs = t.open(now, true)
	if len(s.configs) == 0 && s.requested == "" {
		return nil, b.rest(t, now)
	}
	if wait := b.gate.brake(t, now); wait > 0 {
		return nil, wait
	}
	s.due, t.going = true, true
	return s, 0
}

// rest has t, which waits for nothing now, wait for nothing any more, and returns how long until it has to be attended again although nothing happens; 0
// if never. Every config that its patterns match has been decided about: one that is made after they were listed is new.
func (b *board) rest(t *tracked, now time.Time) time.Duration {
	if t.hold != nil {
		b.recordQ.Add(t.w.Ref())
	}
	b.letOff(t)
	if !t.listed.IsZero() {
		t.state.Listed, t.listed = t.listed, time.Time{}
		b.states.change(t.w.Ref())
	}
	wait := b.rollouts.deadline(t, now)
	for _, e := range t.edges.All() {
		if e.open && e.rests(now) && (wait == 0 || e.rest.Before(now.Add(wait))) {
			wait = e.rest.Sub(now)
		}
	}
	return wait
}

// unreadyTime is after what time it is looked again whether every workload was looked at.
const unreadyTime = 50 * time.Millisecond

// note writes what must be noted into the State, and has what turned out to be missed wait for its window. Where a note says that something came to the
// content by itself, the workload is read again before: if it has changed, everything is decided again.
func (d *roller) note(ctx context.Context, s *sitting) time.Duration {
	t := s.t
	byItself := slices.ContainsFunc(s.out.Noted, func(c reloader.Config) bool {
		return s.verdicts[c].Rule == plan.Reverted || s.verdicts[c].Rule == plan.PodsNewer
	})
	if byItself {
		if err := d.tracker.reread(ctx, s.w.Ref()); err != nil {
			return d.holdBack(s, err)
		}
	}
	b := d.lock()
	defer d.unlock()
	if t.state.N != s.state.N || byItself && !t.w.Alike(s.w) {
		return atOnce // another process has rolled it, or it has changed
	}
	for _, c := range s.out.Rolled {
		if e := t.edges.Get(c); e != nil && !e.behind {
			b.fallBehind(t, c, b.configs.of(c).now)
		}
	}
	b.noteAll(s)
	return atOnce
}

// release has the pods of t scheduled that Wave kept from it, and returns how long to wait before that is tried again. It is not a
// reload: none of these pods has ever started.
func (d *roller) release(ctx context.Context, t *tracked) time.Duration {
	d.lock()
	w := t.w
	d.unlock()
	waits := slices.ContainsFunc(d.Dialects, func(dl *dialect.Dialect) bool { return dl.Waits })
	if !dialect.Unscheduled(w) || d.DryRun || !waits {
		return 0
	}
	released, err := d.Workloads.Roll(ctx, w, dialect.Release(w))
	if err == nil {
		d.Logger.Info("pods are scheduled again", "workload", w.Ref().String())
		d.tracker.Track(released)
		return 0
	}
	d.Logger.Warn("pods could not be scheduled again yet", "workload", w.Ref().String(), "error", err)
	_ = d.tracker.reread(ctx, w.Ref())
	return again
}
