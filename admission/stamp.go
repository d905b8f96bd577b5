package admission

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/strategy"
)

// Seen is what a live config says.
type Seen struct {
	live.Meta
	// Absent says that there is no such config.
	Absent bool
	Digest reloader.Digest
	// Marks are those of the content.
	Marks dialect.Values
	// Content is kept only if Wave's hash is to be made of it, for as long as the request lasts.
	Content digest.Content
}

// Patch returns the operations that keep the marks of the workload, and how many configs it is brought to. seen are the configs that it
// needs; those that are missing there keep the mark they have. now is the time of the request: it stands for when a config was written
// that does not say so itself.
func (d *Draft) Patch(seen map[reloader.Config]Seen, now time.Time) (ops []strategy.Op, brought int, err error) {
	general := d.plan.Strategy(d.rules.Strategy)
	if general.Own {
		return d.restored, 0, nil // the pod template carries no marks
	}
	placed := newestOnly(d.place(general, seen, now))
	written, err := strategy.Write(d.now, placed)
	if err != nil {
		return d.restored, 0, err
	}
	says, brought := d.says(seen, placed)
	ops = slices.Concat(d.restored, written)
	if says != d.now.Annotations[strategy.BroughtKey] {
		ops = append(ops, strategy.Annotate(d.now, strategy.BroughtKey, says)...)
	}
	return ops, brought, nil
}

// says returns what strategy.BroughtKey is to say, and to how many of Needs the workload is brought. It tells of every config that somebody
// asks for, not only of those whose mark becomes another: a mark need not be made of all that pods read, and they start anew in any case. A
// workload that has just been created says nothing: its marks stand for what it was created with.
func (d *Draft) says(seen map[reloader.Config]Seen, placed []strategy.Placed) (text string, brought int) {
	text = d.now.Annotations[strategy.BroughtKey]
	for _, c := range d.Needs {
		s, ok := seen[c]
		if !ok || s.Absent || !d.plan.Decide(s.about(c)).Reload {
			continue
		}
		version := strategy.Version(c, s.UID, s.ResourceVersion, s.Digest.Sum)
		tells := !d.created && strategy.BroughtVersion(d.now, c) != version
		if tells {
			text = strategy.BroughtWith(text, c, version, s.Digest.Sum)
		}
		if tells || d.advances(c, placed) {
			brought++
		}
	}
	return text, brought
}

// place returns the marks that every dialect which asks has for what was seen of Needs, but for those whose place somebody's own has taken.
func (d *Draft) place(general strategy.Strategy, seen map[reloader.Config]Seen, now time.Time) []strategy.Placed {
	var found []strategy.Placed
	for _, c := range d.Needs {
		s, ok := seen[c]
		if !ok || s.Absent {
			continue
		}
		mark := strategy.Mark{Config: c, At: s.DataWritten}
		if mark.At.IsZero() {
			mark.At = now
		}
		var by []string
		for _, dl := range d.plan.Decide(s.about(c)).Marks {
			writer := dl.Writer(general)
			mark.Value = d.value(dl, c, seen)
			if mark.Value == "" || slices.Contains(by, writer.Name) || writer.Taken != nil && writer.Taken(d.now, c) {
				continue
			}
			by = append(by, writer.Name)
			found = append(found, strategy.Placed{Strategy: writer, Mark: mark})
		}
	}
	return found
}

// value returns the mark that a dialect has for c; empty if it has none, or not all that it is made of was seen.
func (d *Draft) value(dl *dialect.Dialect, c reloader.Config, seen map[reloader.Config]Seen) string {
	live := dl.Of(seen[c].Marks)
	if dl.Joint != nil {
		live = d.values(dl, seen)
	}
	if len(live) == 0 {
		return ""
	}
	return live[0]
}

// values returns the joint mark that a dialect has for the workload, and then those that prove the same; none if not all that it is made of was seen.
func (d *Draft) values(dl *dialect.Dialect, seen map[reloader.Config]Seen) []string {
	plan := d.plan.Only(dl)
	parts := map[reloader.Config]dialect.Part{}
	for _, c := range plan.Names {
		s, ok := seen[c]
		if !ok {
			return nil
		}
		if !s.Absent && s.about(c).ShowsTo(d.now.Namespace) {
			parts[c] = dialect.Part{UID: s.UID, ResourceVersion: s.ResourceVersion, Sum: s.Digest.Sum, KeyID: s.Digest.KeyID, Keys: s.Digest.Keys, Content: s.Content}
		}
	}
	return dl.Joint.Values(d.now, parts)
}

// about returns what dialects ask about c.
func (s Seen) about(c reloader.Config) dialect.ConfigMeta {
	return dialect.ConfigMeta{Config: c, Annotations: s.Annotations, Labels: s.Labels, Unselected: s.Unselected}
}

// newestOnly leaves of the marks for the annotation that has room for one only the newest: otherwise they would take turns.
func newestOnly(placed []strategy.Placed) []strategy.Placed {
	var newest time.Time
	for _, p := range placed {
		if p.Strategy.Name == strategy.Annotations.Name && p.Mark.At.After(newest) {
			newest = p.Mark.At
		}
	}
	return slices.DeleteFunc(placed, func(p strategy.Placed) bool {
		return p.Strategy.Name == strategy.Annotations.Name && p.Mark.At.Before(newest)
	})
}

// advances reports whether one of the marks for c is another than the workload carries.
func (d *Draft) advances(c reloader.Config, placed []strategy.Placed) bool {
	return slices.ContainsFunc(placed, func(p strategy.Placed) bool {
		if p.Mark.Config != c {
			return false
		}
		carried, _ := p.Strategy.Current(d.now, c)
		return carried != p.Mark.Value
	})
}

// marshal returns ops as one JSON patch for an object that nobody else can change meanwhile: there is nothing to test.
func marshal(ops []strategy.Op) ([]byte, error) {
	return strategy.Marshal(slices.DeleteFunc(slices.Clone(ops), func(op strategy.Op) bool { return op.Op == "test" }))
}
