package dispatcher

import (
	"context"

	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
)

// Marks of tools are written for who looks at them, and read only where neither the workload nor the ledger says what the workload was brought to.

// markSays says what the mark of a tool on the workload proves about c.
func (d *decider) markSays(ctx context.Context, s *sitting, c reloader.Config) (plan.MarkSays, error) {
	b := d.lock()
	f, t := b.configs.of(c).now, s.t
	asking := t.decide(c, f).Marks
	creation := t.counting(c, f).Creation
	carried, found := plan.Carries(s.w, c, asking, d.strategyOf(s.plan))
	another := found && t.knowsAnother(carried.Dialect, c)
	d.unlock()
	if !found || carried.Dialect.Joint != nil && another {
		return plan.MarkNone, nil
	}
	values, err := d.valuesOf(ctx, s, carried.Dialect, c)
	if err != nil {
		return "", err
	}
	says := carried.Says(values, creation)
	if says == plan.MarkDiffers && carried.Dialect.Joint != nil && s.state.N > 0 {
		says = plan.MarkNone // a roll of ours wrote it, for the configs that the State has
	}
	return says, nil
}

// valuesOf returns the mark of a dialect for what is live of c, and those that prove the same.
func (d *decider) valuesOf(ctx context.Context, s *sitting, dl *dialect.Dialect, c reloader.Config) ([]string, error) {
	if dl.Joint != nil {
		return d.jointValues(ctx, s, dl)
	}
	f, err := d.current(ctx, c, s.after, true)
	if err != nil || f.marks == nil {
		return nil, err
	}
	return dl.Of(*f.marks), nil
}

// jointValues returns the mark of a dialect for all of its configs together, and those that prove the same.
func (d *decider) jointValues(ctx context.Context, s *sitting, dl *dialect.Dialect) ([]string, error) {
	only := s.plan.Only(dl)
	parts := make(map[reloader.Config]dialect.Part, len(only.Names))
	for _, c := range only.Names {
		f, err := d.lookFor(ctx, s, c, true)
		if err != nil {
			return nil, err
		}
		d.lock()
		shown := !f.absent && !f.unread && s.t.shows(c, f)
		d.unlock()
		if !shown {
			continue
		}
		p := dialect.Part{UID: f.UID, ResourceVersion: f.ResourceVersion, Sum: f.digest.Sum}
		if dl.Joint.Reads {
			if p.Content, err = d.contentOf(ctx, c, f); err != nil {
				return nil, err
			}
		}
		parts[c] = p
	}
	return dl.Joint.Values(s.w, parts), nil
}

// marksFor returns what every dialect writes that asks for one of the configs that are rolled.
func (d *decider) marksFor(ctx context.Context, s *sitting) ([]mark.Mark, error) {
	var tools []mark.Tool
	entries := map[string][]mark.Entry{}
	for _, c := range s.out.Rolled {
		b := d.lock()
		f := b.configs.of(c).now
		decision := s.plan.Decide(d.metaOf(c, f))
		at := f.seen
		if last := b.configs.of(c).last(b.Cluster, c); last.ResourceVersion == f.ResourceVersion {
			at = last.VerifiedAt
		}
		d.unlock()
		for _, dl := range decision.Marks {
			tool, marks := plan.Tool(dl, d.strategyOf(s.plan))
			if !marks || d.HashOnly && tool.Name != mark.Own.Name {
				continue
			}
			e := mark.Entry{Config: c, At: at, Gone: f.absent}
			if tool.Name != mark.Own.Name && (!e.Gone || dl.Joint != nil) {
				values, err := d.valuesOf(ctx, s, dl, c)
				if err != nil {
					return nil, err
				}
				if len(values) > 0 {
					e.Value = values[0]
				}
			}
			if entries[tool.Name] == nil {
				tools = append(tools, tool)
			}
			entries[tool.Name] = append(entries[tool.Name], e)
		}
	}
	var marks []mark.Mark
	for _, tool := range tools {
		written, err := tool.Marks(s.w, entries[tool.Name])
		if err != nil {
			return nil, unmarkable{err}
		}
		marks = append(marks, written...)
	}
	return marks, nil
}

// unmarkable is the error of a workload that cannot carry a mark.
type unmarkable struct{ error }
