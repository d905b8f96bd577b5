package dispatcher

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// scribe writes what people read about a workload.
type scribe struct {
	*common
	configs configs
}

func (x *scribe) record(t *tracked) reloader.WorkloadRecord {
	r := reloader.WorkloadRecord{
		Cluster:   x.Cluster,
		Workload:  t.w.Ref(),
		UID:       string(t.w.UID),
		Dialect:   t.plan.Dialect(),
		Strategy:  t.strategyName(""),
		Problems:  slices.DeleteFunc(append(slices.Clone(t.plan.Problems), t.crowded, t.damaged), func(p string) bool { return p == "" }),
		Standing:  reloader.Standing{LastReload: t.reload},
		UpdatedAt: time.Now(),
		Dormant:   t.w.Dormant,
		Keys:      t.plan.Chosen.Keys.String(),
	}
	r.WaitsSince, r.Rolls = t.behindSince(), paceOf(t.state).Lately(r.UpdatedAt)
	r.Missing = x.lacks(t)
	if p := t.plan.Chosen.Pause; p.Begun {
		r.Hold = &reloader.Hold{Reason: reloader.ReasonPaused, Since: p.Until.Add(-p.Period), Due: p.Until}
	}
	if t.hold != nil {
		r.Hold = t.hold
	}
	if t.rollout != nil {
		state := t.rollout.State
		r.Rollout = &state
	}
	for c, e := range t.edges.All() {
		r.Edges = append(r.Edges, x.edge(t, c, e))
	}
	return r
}

func (x *scribe) edge(t *tracked, c reloader.Config, e *edge) reloader.Edge {
	known := x.configs.of(c)
	decision := t.decide(c, known.now)
	out := reloader.Edge{Config: c, Why: decision.Why, Clause: decision.Clause, UsedKeys: decision.UsedKeys}
	if r := t.w.Template.References.Get(c); r != nil {
		out.Uses = r.Uses
	}
	if decision.Reload {
		out.Restarts = x.restarts(t.plan, c)
	}
	if w, applied := t.state.Writes.Find(c); applied && !w.Out {
		out.Applied, out.How, out.At = reloader.Digest{KeyID: w.KeyID, Sum: w.Sum}, e.how, e.at
		if out.How == "" {
			out.How, out.At = reloader.ReasonBaseline, t.state.AsOf()
		}
	}
	if !decision.Reload && !e.open && out.How == "" { // the workload does not want it, and begins with what is there if it ever does
		out.Applied = reloader.Digest{KeyID: t.live(c, known.now).KeyID, Sum: e.unwanted}
		out.How, out.At = reloader.ReasonBaseline, e.at
	}
	if n := len(e.changes); e.behind && n > 0 {
		out.Pending = e.changes[n-1].ID
	}
	return out
}
