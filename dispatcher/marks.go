package dispatcher

import (
	"cmp"
	"context"
	"slices"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
)

// Marks of tools are written for who looks at them, and read only where neither the workload nor the ledger says what the workload was brought to.

// strategy returns the name of the strategy that a workload has chosen, or of that of the installation.
func (d *Dispatcher) strategy(p *dialect.Plan) string { return cmp.Or(p.Chosen.Strategy, d.Strategy) }

// strategyName returns by which strategy t is marked, as records have it.
func (d *Dispatcher) strategyName(t *tracked) string {
	general := d.strategy(t.plan)
	if len(t.plan.Enabled) > 0 && general != plan.Restart {
		return cmp.Or(t.plan.Enabled[0].Marks, general)
	}
	return general
}

// markSays says what the mark of a tool on the workload proves about c.
func (d *Dispatcher) markSays(ctx context.Context, s *sitting, c reloader.Config) (applied.MarkSays, error) {
	d.mu.Lock()
	f, t := d.entry(c).now, s.t
	asking := t.plan.Decide(d.metaOf(c, f)).Marks
	creation := d.counting(t, c, f).Creation
	d.mu.Unlock()
	carried, found := plan.Carries(s.w, c, asking, d.strategy(s.plan))
	switch {
	case !found, carried.Dialect.Joint != nil && d.knowsAnother(t, carried.Dialect, c):
		return applied.MarkNone, nil
	case !carried.Readable(d.Ring.Knows):
		return applied.MarkUnreadable, nil
	}
	values, err := d.valuesOf(ctx, s, carried.Dialect, c)
	if err != nil {
		return "", err
	}
	others, err := d.othersOf(ctx, s, carried, c)
	if err != nil {
		return "", err
	}
	says := carried.Says(values, others, creation)
	if says == applied.MarkDiffers && carried.Dialect.Joint != nil && s.n > 0 {
		says = applied.MarkNone // a roll of ours wrote it, for the configs that the State has
	}
	return says, nil
}

// knowsAnother reports whether t was brought to another config of a dialect that marks all of its configs together: its mark was made without c then.
func (d *Dispatcher) knowsAnother(t *tracked, dl *dialect.Dialect, c reloader.Config) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t.state.N == 0 && !t.state.AsOf().Before(plan.WrittenAt(t.w)) {
		return false // it has the mark that it had when it was seen first
	}
	return slices.ContainsFunc(t.plan.Only(dl).Names, func(o reloader.Config) bool {
		w, known := t.state.Writes[o]
		return o != c && known && !w.Out
	})
}

// valuesOf returns the mark of a dialect for what is live of c, and those that prove the same.
func (d *Dispatcher) valuesOf(ctx context.Context, s *sitting, dl *dialect.Dialect, c reloader.Config) ([]string, error) {
	if dl.Joint != nil {
		return d.jointValues(ctx, s, dl)
	}
	f, err := d.current(ctx, c, s.after, true)
	if err != nil || f.marks == nil {
		return nil, err
	}
	return dl.Of(*f.marks), nil
}

// othersOf returns the marks of the other configs of the workload whose mark has the place of that of c.
func (d *Dispatcher) othersOf(ctx context.Context, s *sitting, m plan.Carried, c reloader.Config) (values []string, err error) {
	d.mu.Lock()
	var others []reloader.Config
	for o := range s.t.edges {
		if o != c && o.Cluster == "" && m.Tool.Shares(s.w, c, o) {
			others = append(others, o)
		}
	}
	d.mu.Unlock()
	for _, o := range others {
		f, err := d.current(ctx, o, s.after, true)
		if err != nil {
			return nil, err
		}
		if f.marks != nil {
			values = append(values, m.Dialect.Of(*f.marks)...)
		}
	}
	return values, nil
}

// jointValues returns the mark of a dialect for all of its configs together, and those that prove the same.
func (d *Dispatcher) jointValues(ctx context.Context, s *sitting, dl *dialect.Dialect) ([]string, error) {
	only := s.plan.Only(dl)
	parts := make(map[reloader.Config]dialect.Part, len(only.Names))
	for _, c := range only.Names {
		f, err := d.current(ctx, c, s.after, true)
		if err != nil {
			return nil, d.concealed(s.t, c, err)
		}
		d.mu.Lock()
		shown := !f.absent && !f.unread && d.shows(s.t, c, f)
		d.mu.Unlock()
		if !shown {
			continue
		}
		p := dialect.Part{UID: f.UID, ResourceVersion: f.ResourceVersion, Sum: f.digest.Sum, KeyID: f.digest.KeyID}
		if dl.Joint.Reads {
			if p.Content, err = d.contentOf(ctx, c, f); err != nil {
				return nil, err
			}
		}
		parts[c] = p
	}
	values := dl.Joint.Values(s.w, parts)
	for _, older := range d.olderParts(s, parts) {
		values = append(values, dl.Joint.Values(s.w, older)...)
	}
	return values, nil
}

// olderParts returns parts with the digests under each other key of the ring: to rotate a key makes no mark untrue.
func (d *Dispatcher) olderParts(s *sitting, parts map[reloader.Config]dialect.Part) []map[reloader.Config]dialect.Part {
	byKey := map[string]map[reloader.Config]dialect.Part{}
	d.mu.Lock()
	defer d.mu.Unlock()
	for c, p := range parts {
		for _, older := range d.entry(c).now.older {
			if byKey[older.KeyID] == nil {
				byKey[older.KeyID] = map[reloader.Config]dialect.Part{}
			}
			p.Sum, p.KeyID = older.Sum, older.KeyID
			byKey[older.KeyID][c] = p
		}
	}
	var all []map[reloader.Config]dialect.Part
	for _, of := range byKey {
		if len(of) == len(parts) {
			all = append(all, of)
		}
	}
	return all
}

// marksFor returns what every dialect writes that asks for one of the configs that are rolled.
func (d *Dispatcher) marksFor(ctx context.Context, s *sitting, out plan.Outcome) ([]mark.Mark, error) {
	type writing struct {
		tool    mark.Tool
		entries []mark.Entry
	}
	var all []*writing
	for _, c := range out.Rolled {
		d.mu.Lock()
		f := d.entry(c).now
		decision := s.plan.Decide(d.metaOf(c, f))
		at := f.seen
		if last := d.entry(c).last.Change; last.ResourceVersion == f.ResourceVersion {
			at = last.VerifiedAt
		}
		d.mu.Unlock()
		for _, dl := range decision.Marks {
			tool, marks := plan.Tool(dl, d.strategy(s.plan))
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
			i := slices.IndexFunc(all, func(w *writing) bool { return w.tool.Name == tool.Name })
			if i < 0 {
				all, i = append(all, &writing{tool: tool}), len(all)
			}
			all[i].entries = append(all[i].entries, e)
		}
	}
	var marks []mark.Mark
	for _, w := range all {
		written, err := w.tool.Marks(s.w, w.entries)
		if err != nil {
			return nil, unmarkable{err}
		}
		marks = append(marks, written...)
	}
	return marks, nil
}

// unmarkable is the error of a workload that cannot carry a mark.
type unmarkable struct{ error }

// hashOfState returns the value of the hash in the pod template that a roll to s writes.
func hashOfState(s applied.State) string { return mark.Hash(s.N, s.Contents()) }
