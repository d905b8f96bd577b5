package dispatcher

import (
	"cmp"
	"context"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// maxRereads is how often in a row a workload that moved under our hands is read and decided again before it has to wait.
const maxRereads = 5

// next is what comes after one step of attend: the workload is to be attended again at once, or after a time.
type next struct {
	atOnce bool
	wait   time.Duration
	// held has the workload wait if the steps come to no end.
	held func() time.Duration
}

// attend does what is due for one workload, and returns how long until it has to be attended again. No two calls are about the same workload.
func (d *Dispatcher) attend(ctx context.Context, ref reloader.WorkloadRef) time.Duration {
	t := d.trackedBy(ref)
	if t == nil {
		return 0
	}
	if err := d.expand(ctx, t); err != nil {
		return d.troubled(ref, err)
	}
	released := d.release(ctx, t)
	if released > 0 {
		return released
	}
	var n next
	for range maxRereads + 1 {
		if err := d.readLedger(ctx, ref.Namespace); err != nil {
			return d.troubled(ref, err)
		}
		if n = d.step(ctx, t); !n.atOnce {
			return cmp.Or(released, n.wait)
		}
		if d.trackedBy(ref) != t {
			return time.Millisecond // it was replaced, or opted out
		}
	}
	if n.held != nil {
		return n.held()
	}
	return again
}

// sitting is one step of attend: a version of the workload, and the configs that are decided about.
type sitting struct {
	t *tracked
	// w, plan and state are those of t when the step began; state is taken anew when everything is decided.
	w     *workload.Workload
	plan  *dialect.Plan
	state applied.State
	// configs are decided about, each with how often it had been opened. due says that what is behind is among them, and may roll now.
	configs map[reloader.Config]int
	due     bool
	// requested is the value of RequestedAnnotation that asks for a roll.
	requested string
	// n is the number of rolls that are known.
	n uint64
	// after is when the State became known: no look that began before it counts.
	after time.Time
	began time.Time
}

// step decides what is new about t. If there is nothing new, it rolls what is behind and due.
func (d *Dispatcher) step(ctx context.Context, t *tracked) next {
	s, wait := d.sit(t)
	if s == nil {
		return next{wait: wait}
	}
	if s.due {
		defer d.stand(t)
	}
	verdicts, failed := d.decide(ctx, s)
	d.mu.Lock()
	out := plan.Together(string(t.target().UID), t.object, t.state, verdicts, s.began)
	s.state = t.state
	d.mu.Unlock()
	switch {
	case s.due && (out.Do == plan.Roll || s.requested != ""):
		return d.roll(ctx, s, out, verdicts)
	case s.due && failed != nil && len(verdicts) == 0:
		return next{wait: d.holdBack(s, nil, failed)}
	}
	return d.note(ctx, s, out, verdicts)
}

// sit returns what is to be decided about t now, or how long to wait for that.
func (d *Dispatcher) sit(t *tracked) (*sitting, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	s := &sitting{t: t, w: t.w, plan: t.plan, state: t.state, configs: map[reloader.Config]int{}, after: t.since, began: now, n: t.state.N}
	for c, e := range t.edges {
		if e.open && !e.behind && !e.rests(now) {
			s.configs[c] = e.opened
		}
	}
	if len(s.configs) > 0 {
		return s, 0
	}
	if d.asked(t) {
		if !d.ready.Load() {
			return nil, unreadyTime
		}
		s.requested = t.w.Annotations[RequestedAnnotation]
	}
	for c, e := range t.edges {
		if e.open && !e.rests(now) {
			s.configs[c] = e.opened
		}
	}
	if len(s.configs) == 0 && s.requested == "" {
		d.relax(t)
		d.noteListed(t)
		return nil, d.nextDeadline(t, now)
	}
	if wait := d.brake(t, now); wait > 0 {
		return nil, wait
	}
	s.due, t.going = true, true
	return s, 0
}

// noteListed notes since when every config that t's patterns match has been decided about: one that is made later is new. The caller holds mu.
func (d *Dispatcher) noteListed(t *tracked) {
	if t.listing.IsZero() {
		return
	}
	t.state.Listed, t.listing = t.listing, time.Time{}
	d.stateChanged(t.w.Ref())
}

// unreadyTime is after what time it is looked again whether every workload was looked at.
const unreadyTime = 50 * time.Millisecond

// stand takes note that t is not about to roll any more, and lets those go that wait for its place.
func (d *Dispatcher) stand(t *tracked) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t.going = false
	d.nextAfter(t)
}

// note writes what is to be noted into the State, and has what turned out to be missed wait for its window. Where a note says that something came to the
// content by itself, the workload is read again before: if it has changed, everything is decided again.
func (d *Dispatcher) note(ctx context.Context, s *sitting, out plan.Outcome, verdicts map[reloader.Config]plan.Verdict) next {
	t := s.t
	for _, c := range out.Noted {
		if reason := verdicts[c].Reason; reason != reloader.ReasonReverted && reason != reloader.ReasonPodsNewer {
			continue
		}
		live, err := d.Workloads.Read(ctx, s.w.Ref())
		if err != nil {
			return next{wait: d.holdBack(s, nil, err)}
		}
		if live.ResourceVersion != s.w.ResourceVersion {
			d.Track(live)
			d.mu.Lock()
			moved := !t.w.Alike(s.w)
			d.mu.Unlock()
			if moved {
				return next{atOnce: true}
			}
		}
		break
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if t.state.N != s.n {
		return next{atOnce: true} // another process has rolled it
	}
	for _, c := range out.Rolled {
		if e := t.edges[c]; e != nil && !e.behind {
			d.fallBehind(t, c, d.entry(c).now)
		}
	}
	d.noteAll(s, verdicts)
	return next{atOnce: true}
}

// noteAll takes verdicts that are notes, or that nothing is to be done, and closes what they are about. The caller holds mu.
func (d *Dispatcher) noteAll(s *sitting, verdicts map[reloader.Config]plan.Verdict) {
	t, noted, writes := s.t, []reported{}, map[reloader.Config]*applied.Write{}
	for c, opened := range s.configs {
		v, decided := verdicts[c]
		e := t.edges[c]
		if e == nil || !decided || v.Do != plan.Note && v.Do != plan.Nothing || e.opened != opened {
			continue
		}
		switch last := d.entry(c).last.Change; {
		case e.behind && v.Reason != "":
			noted = append(noted, reported{c, v, e.changes})
		case v.Reason == reloader.ReasonKeysUnused && last.ResourceVersion == v.Write.Version:
			noted = append(noted, reported{c, v, []reloader.Change{last}})
		}
		if v.Rule == plan.NotWanted {
			now := d.liveOf(t, c, d.entry(c).now).Write
			if v.Do == plan.Nothing && !now.Absent() && !e.unwanted.Absent() && now.Sum != e.unwanted.Sum {
				noted = append(noted, reported{c, v, []reloader.Change{d.entry(c).last.Change}})
			}
			e.unwanted, e.at = now, time.Now()
			d.recordQ.AddAfter(t.w.Ref(), recordDelay)
		}
		switch {
		case v.Do == plan.Nothing:
		case v.Write.Out:
			writes[c] = outOf(t.state, c)
			d.recordQ.Add(t.w.Ref())
		default:
			writes[c] = &v.Write
			e.how, e.at = v.Reason, time.Now()
			d.recordQ.AddAfter(t.w.Ref(), recordDelay)
		}
		e.close()
	}
	d.noteWrites(t, writes, s.began)
	d.reportNoted(s, noted)
}

// troubled has a workload attended again later, because of an error that is not about one of its configs.
func (d *Dispatcher) troubled(ref reloader.WorkloadRef, err error) time.Duration {
	d.Logger.Warn("a workload could not be attended to", "workload", ref.String(), "error", err)
	return again
}

func (d *Dispatcher) trackedBy(ref reloader.WorkloadRef) *tracked {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.index.byRef[ref]
}
