package adoption

import (
	"cmp"
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// fates returns what each config that was read will do to the workload, as far as it will do anything.
func (s inspection) fates() []Fate {
	fates := []Fate{}
	for c, k := range s.read {
		decision := s.plan.Decide(metaOf(c, k))
		if !decision.Reload {
			continue
		}
		by := s.judge(c, decision.Marks)
		f := Fate{Config: c, Dialect: by.Name, Clause: decision.Clause, Why: decision.Why}
		if f.State = s.state(c, by, decision.Created); f.State == Missed {
			f.Written = k.Meta.DataWritten
		}
		fates = append(fates, f)
	}
	slices.SortFunc(fates, func(a, b Fate) int { return cmp.Compare(a.Config.String(), b.Config.String()) })
	return fates
}

// judge returns the dialect by whose mark the workload is judged: the first that asks for c and has marked it, or else the first that asks.
func (s inspection) judge(c reloader.Config, asking []*dialect.Dialect) *dialect.Dialect {
	for _, d := range asking {
		if _, marked := s.carried(c, d); marked {
			return d
		}
	}
	return asking[0]
}

// carried returns the mark of d for c on the workload. The template of a CronJob has none: the Jobs that are made of it carry theirs.
func (s inspection) carried(c reloader.Config, d *dialect.Dialect) (string, bool) {
	if s.w.Roll() == workload.NewJob {
		return "", false
	}
	return s.strategyBy(d).Current(s.w, c)
}

// strategyBy returns the strategy by which d marks the workload.
func (s inspection) strategyBy(d *dialect.Dialect) strategy.Strategy {
	return d.Writer(s.plan.Strategy(s.Strategy))
}

// state compares the mark of d for c with what it is to be. created says that the creation of c is a change.
func (s inspection) state(c reloader.Config, d *dialect.Dialect, created bool) State {
	k := s.read[c]
	switch {
	case k.Absent:
		return Absent
	case k.Fault != "":
		return Unknown
	case k.Meta.Unproven:
		return Baseline
	}
	mark, marked := s.carried(c, d)
	if !marked {
		return Baseline
	}
	values, known := s.values(c, d)
	switch {
	case mark == strategy.DeletedValue && !s.Creations && !created && !k.Meta.DataWritten.After(k.Meta.Created):
		return Baseline // all that came after the mark is a creation
	case slices.Contains(values, mark):
		return Current
	case !known:
		return Unknown
	case dialect.KeyOf(mark) != "", !d.ByContent() && s.w.Annotations[dialect.OwnPrefix+"last-reload"] != "":
		return Recorded // it is made of digests, or may be, whose key nobody has but Reroll
	case s.marksAnother(c, d, mark):
		return Baseline
	case s.w.Dormant != "":
		return Dormant
	}
	return Missed
}

// unknownSum stands for a digest in a joint mark: it equals none.
const unknownSum = "unknown"

// values returns the marks of d that prove that the workload was brought to c as it is, and whether all was read that they are made of.
func (s inspection) values(c reloader.Config, d *dialect.Dialect) ([]string, bool) {
	if d.Joint == nil {
		k := s.read[c]
		return []string{d.Hash(k.Content)}, !k.Content.IsZero()
	}
	parts, known := map[reloader.Config]dialect.Part{}, true
	for _, of := range s.plan.Only(d).Names {
		k, there := s.read[of]
		known = known && there && k.Fault == "" && (k.Absent || !k.Content.IsZero())
		if there && !k.Absent && k.Fault == "" && metaOf(of, k).ShowsTo(s.w.Namespace) {
			parts[of] = dialect.Part{UID: k.Meta.UID, ResourceVersion: k.Meta.ResourceVersion, Sum: unknownSum, Content: k.Content}
		}
	}
	return d.Joint.Values(s.w, parts), known
}

// marksAnother reports whether mark is that of another config of the workload whose mark has the same place as that of c.
func (s inspection) marksAnother(c reloader.Config, d *dialect.Dialect, mark string) bool {
	by := s.strategyBy(d)
	if by.Shares == nil {
		return false
	}
	for other, k := range s.read {
		if other != c && !k.Content.IsZero() && by.Shares(s.w, c, other) && d.Hash(k.Content) == mark && s.plan.Decide(metaOf(other, k)).Reload {
			return true
		}
	}
	return false
}

func metaOf(c reloader.Config, k Known) dialect.ConfigMeta {
	return dialect.ConfigMeta{Config: c, Annotations: k.Meta.Annotations, Labels: k.Meta.Labels, Unselected: k.Meta.Unselected}
}
