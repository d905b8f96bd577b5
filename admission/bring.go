package admission

import (
	"cmp"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
)

func (d *draft) strategy() string { return cmp.Or(d.plan.Chosen.Strategy, d.Strategy) }

// bring makes the request a roll for the configs that the object does not say to be applied yet, and reports whether there are any. The pods of the
// new template start with them anyway. Configs that are absent or were not read keep their entries.
func (d *draft) bring(now time.Time) (bool, error) {
	claim := d.state
	claim.N, claim.At, claim.Writes = d.state.N+1, now, nil
	for c, s := range d.seen {
		if s.decision.Reload {
			claim.Writes.Set(c, s.write)
		}
	}
	next := applied.Newest(claim, d.state)
	var rolled []reloader.Config
	for c := range claim.Writes.All() {
		if next.Writes.Get(c) != d.state.Writes.Get(c) {
			rolled = append(rolled, c)
		}
	}
	if len(rolled) == 0 {
		return false, nil
	}
	next.Writes = slices.DeleteFunc(next.Writes, func(of reloader.OfConfig[applied.Write]) bool {
		return of.Config.Cluster == "" && !d.plan.Matches(of.Config)
	})
	if value := d.now.Annotations[mark.RequestedKey]; value != "" {
		next.Requested = reloader.ValueID(value)
	}
	if d.strategy() != plan.Restart {
		marks, err := d.marksFor(rolled)
		if err != nil {
			return false, err
		}
		d.roll.Hash, d.roll.Marks = mark.Hash(next.N, next.Contents()), append(d.roll.Marks, marks...)
	}
	d.roll.Annotations = map[string]any{applied.Key: next.Annotation()}
	return true, nil
}

// marksFor returns what each dialect writes that asks for one of these configs.
func (d *draft) marksFor(rolled []reloader.Config) (marks []mark.Mark, err error) {
	tools, entries := map[string]mark.Tool{}, map[string][]mark.Entry{}
	for _, c := range rolled {
		for _, dl := range d.seen[c].decision.Marks {
			tool, writes := plan.Tool(dl, d.strategy())
			if !writes || d.HashOnly && tool.Name != mark.Own.Name {
				continue
			}
			e := mark.Entry{Config: c, At: d.seen[c].DataWritten}
			if values := d.values(dl, c); len(values) > 0 {
				e.Value = values[0]
			}
			tools[tool.Name], entries[tool.Name] = tool, append(entries[tool.Name], e)
		}
	}
	for name, tool := range tools {
		written, err := tool.Marks(d.now.Workload, entries[name])
		if err != nil {
			return nil, err
		}
		marks = append(marks, written...)
	}
	return marks, nil
}

// values returns the mark that a dialect has for c, and then those that prove the same; none if not all that it is made of was seen.
func (d *draft) values(dl *dialect.Dialect, c reloader.Config) []string {
	if dl.Joint == nil {
		return dl.Of(d.seen[c].marks)
	}
	parts, only := map[reloader.Config]dialect.Part{}, d.plan.Only(dl)
	for _, name := range only.Names {
		s, ok := d.seen[name]
		if !ok {
			return nil
		}
		if !s.write.Absent() {
			parts[name] = dialect.Part{UID: s.UID, ResourceVersion: s.ResourceVersion, Sum: s.digest.Sum, Content: s.content}
		}
	}
	return dl.Joint.Values(d.now.Workload, parts)
}
