package dispatcher

import (
	"iter"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// lines are those of the rates: that of all, and one for each namespace.
type lines struct {
	all        turn.Line
	namespaces map[string]turn.Line
}

func newLines() lines { return lines{namespaces: map[string]turn.Line{}} }

// brake returns how long t, which is behind or requested to roll, has to wait; 0 if it rolls now. What holds it back is on record. The caller holds mu.
func (d *Dispatcher) brake(t *tracked, now time.Time) time.Duration {
	if d.HaltOnFailedRollouts && !d.ready.Load() {
		return unreadyTime // who else waits for the same change is not known yet
	}
	if rest := t.calm.Sub(now); rest > 0 {
		return rest
	}
	at := d.turnOf(t, now)
	if due := turn.Due(at, now); due.After(now) {
		return due.Sub(now)
	}
	ref := t.w.Ref()
	peers := turn.Peers{Lines: turn.Lines{Namespace: d.lines.namespaces[ref.Namespace], All: d.lines.all}}
	if d.Limits.Concurrent > 0 || d.Limits.NamespaceConcurrent > 0 {
		peers.Rolling, peers.NamespaceRolling = turn.Crowd(d.peers(), ref)
	}
	if d.HaltOnFailedRollouts && d.instead() == reloader.ReasonReloaded {
		peers.Steps = d.steps(t)
	}
	decided := turn.Decide(at, peers, d.control, now)
	t.slot, d.lines.all = decided.Slot, decided.Lines.All
	d.lines.namespaces[ref.Namespace] = decided.Lines.Namespace
	if decided.Hold == nil {
		return 0
	}
	return d.holdFor(t, *decided.Hold, now)
}

// turnOf returns what decides when t rolls. The caller holds mu.
func (d *Dispatcher) turnOf(t *tracked, now time.Time) turn.Turn {
	chosen := t.plan.Chosen
	at := turn.Turn{
		Workload: t.w.Ref(), Labels: t.w.Labels, Limits: d.Limits,
		Asks:  turn.Asks{Window: chosen.Debounce, MinInterval: chosen.MinInterval, Windows: chosen.Maintenance},
		Waits: map[reloader.Config]turn.Wait{}, Missing: d.missing(t),
		Pace: turn.Pace{Rolls: t.state.Rolls, At: t.state.At}, Slot: t.slot, Requested: d.asked(t), Retry: d.retries(t),
	}
	for c, e := range t.edges {
		if e.behind && !e.rests(now) {
			at.Waits[c] = e.wait
		}
		at.Looking = at.Looking || d.unanswered(c) && d.shows(t, c, d.entry(c).now)
	}
	return at
}

// missing says which configs and keys are missing without which no pod of t starts, if a dialect promises to wait for them; empty if none is. The caller
// holds mu.
func (d *Dispatcher) missing(t *tracked) string {
	waits := false
	for c, e := range t.edges {
		waits = waits || e.behind && t.plan.Decide(d.metaOf(c, d.entry(c).now)).Waits
	}
	if !waits {
		return ""
	}
	var missing []string
	for c := range t.edges {
		if r := t.w.Template.References[c]; r != nil && r.Required {
			f := d.entry(c).now
			missing = append(missing, dialect.Missing(c, r, f.absent || !d.shows(t, c, f), f.digest.Keys)...)
		}
	}
	slices.Sort(missing)
	return dialect.MissingText(missing)
}

// holdFor has t wait for what holds it back, and returns how long to wait before looking again. A dead letter stays one: what is wrong with it, and since when,
// does not change while it is not tried. The caller holds mu.
func (d *Dispatcher) holdFor(t *tracked, hold reloader.Hold, now time.Time) time.Duration {
	wait := turn.Again(hold, now).Sub(now)
	if t.hold.DeadLetter() {
		return wait
	}
	hold = turn.Continue(hold, t.hold, now)
	if t.hold == nil || t.hold.Reason != hold.Reason {
		d.metrics.Held(hold.Reason)
	}
	if t.hold == nil || t.hold.Reason != hold.Reason || t.hold.Message != hold.Message || !t.hold.Due.Equal(hold.Due) {
		d.recordQ.Add(t.w.Ref())
	}
	t.hold = &hold
	return wait
}

// sayLate has a workload that is due say that it waits for others of its namespace.
func (d *Dispatcher) sayLate(ref reloader.WorkloadRef) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	t := d.index.byRef[ref]
	if t == nil || t.hold != nil || !t.behind() || now.Before(turn.Due(d.turnOf(t, now), now).Add(sayWaiting)) {
		return
	}
	d.holdFor(t, reloader.Hold{Reason: reloader.ReasonWaitingForNamespace}, now)
}

// peers are all workloads as one that waits for its turn sees them. The caller holds mu.
func (d *Dispatcher) peers() iter.Seq[turn.Peer] {
	return func(yield func(turn.Peer) bool) {
		for ref, t := range d.index.byRef {
			if !yield(turn.Peer{Workload: ref, Going: t.going, Rollout: t.rollout.result()}) {
				return
			}
		}
	}
}

// dependents are the workloads that depend on c, as one that waits for a step of its newest write sees them. The caller holds mu.
func (d *Dispatcher) dependents(c reloader.Config) iter.Seq[turn.Peer] {
	return func(yield func(turn.Peer) bool) {
		for ref, t := range d.index.byConfig[c] {
			e := t.edges[c]
			p := turn.Peer{
				Workload: ref, Behind: e.behind, Going: t.going && e.behind, How: e.how, Rollout: t.rollout.result(), Retry: d.retries(t),
			}
			if !yield(p) {
				return
			}
		}
	}
}

// steps returns how far the newest writes have come that t waits for. The caller holds mu.
func (d *Dispatcher) steps(t *tracked) map[reloader.Config]turn.Step {
	steps := map[reloader.Config]turn.Step{}
	for c, e := range t.edges {
		if !e.behind {
			continue
		}
		step := turn.Count(d.dependents(c))
		if len(e.changes) > 0 {
			step.Before = e.changes[0].Old.Short()
		}
		steps[c] = step
	}
	return steps
}

// nextAfter has those tried that may go now that something has become of t. The others look again by themselves within a minute. The caller
// holds mu.
func (d *Dispatcher) nextAfter(t *tracked) {
	if d.HaltOnFailedRollouts {
		for c := range t.edges {
			var held []turn.Held
			for ref, other := range d.index.byConfig[c] {
				if other.hold.ForOthers() {
					held = append(held, turn.Held{Workload: ref, Since: other.hold.Since})
				}
			}
			if len(held) > 0 {
				for _, ref := range turn.NextInStep(turn.Count(d.dependents(c)), held) {
					d.workloadQ.Add(ref)
				}
			}
		}
	}
	if d.Limits.Concurrent > 0 || d.Limits.NamespaceConcurrent > 0 {
		d.nextInCrowd()
	}
}

func (d *Dispatcher) nextInCrowd() {
	var rolling []reloader.WorkloadRef
	var held []turn.Held
	for ref, t := range d.index.byRef {
		p := turn.Peer{Going: t.going, Rollout: t.rollout.result()}
		switch {
		case p.Rolls():
			rolling = append(rolling, ref)
		case t.hold != nil && t.hold.Reason == reloader.ReasonConcurrencyLimited:
			held = append(held, turn.Held{Workload: ref, Since: t.hold.Since})
		}
	}
	for _, ref := range turn.NextInCrowd(d.Limits, rolling, held) {
		d.workloadQ.Add(ref)
	}
}

// replay has the rate limits know of the rolls of the last minute, by whichever process: one that starts again and again must not begin
// with a burst each time. It comes when every workload is tracked.
func (d *Dispatcher) replay(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []time.Time
	namespaces := map[string][]time.Time{}
	for ref, t := range d.index.byRef {
		all = append(all, t.state.At)
		namespaces[ref.Namespace] = append(namespaces[ref.Namespace], t.state.At)
	}
	d.lines.all = turn.Replay(d.Limits.PerMinute, all, now)
	for namespace, rolled := range namespaces {
		d.lines.namespaces[namespace] = turn.Replay(d.Limits.NamespacePerMinute, rolled, now)
	}
}

// SetControl tells the dispatcher what those who run the cluster want held back.
func (d *Dispatcher) SetControl(c control.Control) {
	if c.Problem != "" {
		d.Logger.Warn("faulty control", "problem", c.Problem)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, was := d.control.Freeze(time.Now())
	if f, frozen := c.Freeze(time.Now()); frozen != was {
		d.Logger.Warn("freeze", "frozen", frozen, "reason", f.Reason)
	}
	d.control = c
	for ref, t := range d.index.byRef {
		if t.behind() || d.asked(t) {
			d.workloadQ.Add(ref)
		}
	}
}
