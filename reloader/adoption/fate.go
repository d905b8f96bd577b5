package adoption

import (
	"cmp"
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// fates returns what each config that was read will do to w, as far as it will do anything.
func (v View) fates(w *workload.Workload, read map[reloader.Config]Known) []Fate {
	fates := []Fate{}
	for c, k := range read {
		decision := v.Dialects.Decide(w, metaOf(c, k))
		if !decision.Reload {
			continue
		}
		f := Fate{Config: c, Dialect: decision.Dialect, Clause: decision.Clause, Why: decision.Why}
		speaker := v.speaker(w, c, k)
		if speaker != nil {
			f.Dialect = speaker.Name
		}
		if f.State = v.state(w, c, speaker, read); f.State == Missed {
			f.Written = k.Meta.DataWritten
		}
		fates = append(fates, f)
	}
	slices.SortFunc(fates, func(a, b Fate) int { return cmp.Compare(a.Config.String(), b.Config.String()) })
	return fates
}

// speaker returns the dialect by whose mark w is judged: the first that asks for c and has marked w for it, or else the first that asks.
func (v View) speaker(w *workload.Workload, c reloader.Config, k Known) *dialect.Dialect {
	asking := v.Dialects.Asking(w, metaOf(c, k))
	for _, d := range asking {
		if _, marked := v.carried(w, c, d); marked {
			return d
		}
	}
	if len(asking) > 0 {
		return asking[0]
	}
	return nil
}

// carried returns the mark of d for c on w. The template of a CronJob has none: the Jobs that are made of it carry theirs.
func (v View) carried(w *workload.Workload, c reloader.Config, d *dialect.Dialect) (string, bool) {
	if w.Roll() == workload.NewJob {
		return "", false
	}
	return v.strategyBy(w, d).Current(w, c)
}

// strategyBy returns the strategy by which d marks w.
func (v View) strategyBy(w *workload.Workload, d *dialect.Dialect) strategy.Strategy {
	name := v.Strategy
	for _, chooser := range v.Dialects {
		if own := chooser.Strategy(w); own != "" {
			name = own
			break
		}
	}
	general, _ := strategy.Named(name)
	if d.Marks == "" || general.Own {
		return general
	}
	s, _ := strategy.Named(d.Marks)
	return s
}

// state compares the mark of w for c with what it is to be.
func (v View) state(w *workload.Workload, c reloader.Config, d *dialect.Dialect, read map[reloader.Config]Known) State {
	switch k := read[c]; {
	case k.Absent:
		return Absent
	case k.Fault != "":
		return Unknown
	case d == nil || k.Meta.Unproven:
		return Baseline
	}
	mark, marked := v.carried(w, c, d)
	if !marked {
		return Baseline
	}
	values, known := v.values(w, c, d, read)
	switch {
	case mark == strategy.DeletedValue && !v.countsCreation(w, c, read[c]) && !read[c].Meta.DataWritten.After(read[c].Meta.Created):
		return Baseline // all that came after the mark is a creation
	case slices.Contains(values, mark):
		return Current
	case !known:
		return Unknown
	case dialect.KeyOf(mark) != "", !d.ByContent() && w.Annotations[dialect.OwnPrefix+"last-reload"] != "":
		return Recorded // it is made of digests, or may be, whose key nobody has but Reroll
	case v.marksAnother(w, c, d, mark, read):
		return Baseline
	case w.Dormant != "":
		return Dormant
	}
	return Missed
}

// countsCreation reports whether the creation of c is a change for w.
func (v View) countsCreation(w *workload.Workload, c reloader.Config, k Known) bool {
	return v.Creations || slices.ContainsFunc(v.Dialects.Asking(w, metaOf(c, k)), func(d *dialect.Dialect) bool { return d.OnCreate })
}

// unknownSum stands for a digest in a joint mark: it equals none.
const unknownSum = "unknown"

// values returns the marks of d that prove that w was brought to c as it is, and whether all was read that they are made of.
func (v View) values(w *workload.Workload, c reloader.Config, d *dialect.Dialect, read map[reloader.Config]Known) ([]string, bool) {
	if d.Joint == nil {
		k := read[c]
		return []string{d.Hash(k.Content, c.Kind)}, !k.Content.IsZero()
	}
	interest, _ := d.Interest(w)
	parts, known := map[reloader.Config]dialect.Part{}, true
	for _, of := range interest.Exact {
		k, there := read[of]
		known = known && there && k.Fault == "" && (k.Absent || !k.Content.IsZero())
		if there && !k.Absent && k.Fault == "" && metaOf(of, k).ShowsTo(w.Namespace) {
			parts[of] = dialect.Part{UID: k.Meta.UID, ResourceVersion: k.Meta.ResourceVersion, Sum: unknownSum, Content: k.Content}
		}
	}
	return d.Joint.Values(w, parts), known
}

// marksAnother reports whether mark is that of another config of w whose mark has the same place as that of c.
func (v View) marksAnother(w *workload.Workload, c reloader.Config, d *dialect.Dialect, mark string, read map[reloader.Config]Known) bool {
	by := v.strategyBy(w, d)
	if by.Shares == nil {
		return false
	}
	for other, k := range read {
		if other != c && !k.Content.IsZero() && by.Shares(w, c, other) && d.Hash(k.Content, other.Kind) == mark && v.Dialects.Decide(w, metaOf(other, k)).Reload {
			return true
		}
	}
	return false
}

func metaOf(c reloader.Config, k Known) dialect.ConfigMeta {
	return dialect.ConfigMeta{Config: c, Annotations: k.Meta.Annotations, Labels: k.Meta.Labels, Unselected: k.Meta.Unselected}
}
