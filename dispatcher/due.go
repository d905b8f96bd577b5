package dispatcher

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// gate says when a workload that is behind may roll.
type gate struct {
	*common
	index   *index
	configs configs
	intake  *intake
	// control is what operators hold back.
	control control.Control
}

// brake returns how long t, which is behind or requested to roll, has to wait; 0 if it rolls now. The record has the hold.
func (g *gate) brake(t *tracked, now time.Time) time.Duration {
	if g.HaltOnFailedRollouts && g.ready.Load() == nil {
		return unreadyTime // other workloads of the same change are not known yet
	}
	if t.hold != nil && t.hold.Reason == reloader.ReasonRetrying && t.hold.Due.After(now) {
		return t.hold.Due.Sub(now)
	}
	at := g.turn(t, now)
	if due := turn.Due(at, now); due.After(now) {
		return due.Sub(now)
	}
	peers := turn.Peers{All: g.all()}
	if g.HaltOnFailedRollouts && g.instead() == reloader.ReasonReloaded {
		peers.Steps = g.steps(t)
	}
	hold := turn.Decide(at, peers, g.control, now)
	if hold == nil {
		return 0
	}
	return g.hold(t, *hold, now)
}

// turn returns what decides when t rolls.
func (g *gate) turn(t *tracked, now time.Time) turn.Turn {
	at := turn.Turn{
		Peer: peerOf(t), Debounce: g.Debounce, Limits: g.Limits, Chosen: t.plan.Chosen,
		Wait: t.waits(now), Missing: g.missing(t),
		Requested: t.asked(),
	}
	for c := range t.edges.All() {
		known := g.configs.of(c)
		at.Looking = at.Looking || known.unreadable == "" && g.intake.unanswered(c) && t.shows(c, known.now)
	}
	return at
}

// peerOf returns t as brakes see it.
func peerOf(t *tracked) turn.Peer {
	return turn.Peer{Workload: t.w, Going: t.going || t.reloading(), Rollout: t.rollout.Result(), Retry: t.retries(), Pace: paceOf(t.state), Hold: t.hold}
}

func paceOf(s applied.State) turn.Pace { return turn.Pace{Rolls: s.Rolls, At: s.At} }

// missing says which configs and keys are missing without which no pod of t starts, if a dialect promises to wait for them; empty if none is.
func (g *gate) missing(t *tracked) string {
	waits := func(of reloader.OfConfig[*edge]) bool {
		return of.Value.behind && t.decide(of.Config, g.configs.of(of.Config).now).Waits
	}
	if !slices.ContainsFunc(t.edges, waits) {
		return ""
	}
	var missing []string
	for c := range t.edges.All() {
		if r := t.w.Template.References.Get(c); r != nil && r.Required {
			f := g.configs.of(c).now
			missing = append(missing, dialect.Missing(c, r, f.absent || !t.shows(c, f), f.digest)...)
		}
	}
	slices.Sort(missing)
	return dialect.MissingText(missing)
}

// hold has t wait for what holds it back, and returns how long to wait before looking again. A dead letter stays one: what is wrong with it, and since when,
// does not change while it is not tried.
func (g *gate) hold(t *tracked, hold reloader.Hold, now time.Time) time.Duration {
	wait := turn.Again(hold, now).Sub(now)
	if t.hold.DeadLetter() {
		return wait
	}
	if t.hold != nil && t.hold.Reason == hold.Reason {
		hold.Since = t.hold.Since
	} else {
		hold.Since = now
		g.metrics.Held(hold.Reason)
	}
	if t.hold == nil || *t.hold != hold {
		g.recordQ.Add(t.w.Ref())
	}
	t.hold = &hold
	return wait
}

// late has a workload that is due say that it waits for others of its namespace, and returns when it may have to say so again; 0 if it has nothing to say.
func (g *gate) late(ref reloader.WorkloadRef, now time.Time) time.Duration {
	t := g.index.byRef[ref]
	if t == nil || !t.behind() {
		return 0
	}
	if t.hold == nil && !now.Before(turn.Due(g.turn(t, now), now).Add(sayWaiting)) {
		g.hold(t, reloader.Hold{Reason: reloader.ReasonRetrying, Message: namespaceBusy}, now)
	}
	return sayWaiting
}

// peers are workloads as one that waits for its turn sees them: with a config, as they stand to its newest write.
func peers(of iter.Seq[*tracked], c reloader.Config) iter.Seq[turn.Peer] {
	return func(yield func(turn.Peer) bool) {
		for t := range of {
			p := peerOf(t)
			if e := t.edges.Get(c); e != nil {
				p.Behind, p.How = e.behind, e.how
			}
			if !yield(p) {
				return
			}
		}
	}
}

func (g *gate) all() iter.Seq[turn.Peer] { return peers(maps.Values(g.index.byRef), reloader.Config{}) }

func (g *gate) dependents(c reloader.Config) iter.Seq[turn.Peer] {
	return peers(slices.Values(g.index.byConfig[c]), c)
}

// steps returns how far the newest writes have come that t waits for.
func (g *gate) steps(t *tracked) (steps reloader.ByConfig[turn.Step]) {
	for c, e := range t.edges.All() {
		if !e.behind {
			continue
		}
		step := turn.Count(g.dependents(c))
		if t.fails(c) {
			step.Failed = nil // it may try again
		}
		steps.Set(c, step)
	}
	return steps
}

// nextAfter has those tried that may go now that something has become of t. The others look again by themselves within a minute.
func (g *gate) nextAfter(t *tracked) {
	next := turn.NextInCrowd(g.Limits, g.all())
	if g.HaltOnFailedRollouts {
		for c := range t.edges.All() {
			next = append(next, turn.NextInStep(g.dependents(c))...)
		}
	}
	for _, ref := range next {
		g.workloadQ.Add(ref)
	}
}

// obey takes what those who run the cluster want held back.
func (g *gate) obey(c control.Control, now time.Time) {
	_, was := g.control.Freeze(now)
	if f, frozen := c.Freeze(now); frozen != was {
		g.Logger.Warn("freeze", "frozen", frozen, "reason", f.Reason)
	}
	g.control = c
	for ref, t := range g.index.byRef {
		if t.behind() || t.asked() {
			g.workloadQ.Add(ref)
		}
	}
}
