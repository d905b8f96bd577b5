package adoption

import (
	"cmp"
	"slices"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Forecast is what one config does to the workload when Reroll starts.
type Forecast struct {
	Config reloader.Config `json:"config"`
	// Dialect is the name of the dialect whose mark was compared or, without a mark, of the first that asks. Clause is the annotation that asks, and
	// Why the reason.
	Dialect string          `json:"dialect"`
	Clause  string          `json:"clause"`
	Why     reloader.Reason `json:"why"`
	State   State           `json:"state"`
}

// State is the decision about one config at first sight: the reason of its baseline, or one of these.
type State string

// The states that are not reasons. Only Missed rolls the workload.
const (
	// Missed: the mark is not that of the present content, and the pods may run with other content.
	Missed State = "Missed"
	// Absent: the config does not exist.
	Absent State = "Absent"
	// Recorded: Reroll itself has written the mark, and has on record what the workload runs with.
	Recorded State = "Recorded"
	// Unknown: the config, or another that the mark covers, could not be read.
	Unknown State = "Unknown"
)

// forecasts returns what each config that was read does to the workload.
func (s inspection) forecasts() ([]Forecast, error) {
	found := []Forecast{}
	for c, k := range s.Configs {
		decision := s.plan.Decide(metaOf(c, k))
		if !decision.Reload || !s.plan.Matches(c) {
			continue
		}
		f := Forecast{Config: c, Dialect: decision.Dialect, Clause: decision.Clause, Why: decision.Why}
		carried, marked := plan.Carries(s.Workload, c, decision.Marks, cmp.Or(s.plan.Chosen.Strategy, s.Strategy))
		if marked {
			f.Dialect = carried.Dialect.Name
		}
		var err error
		if f.State, err = s.state(c, decision, carried, marked); err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	slices.SortFunc(found, func(a, b Forecast) int { return cmp.Compare(a.Config.String(), b.Config.String()) })
	return found, nil
}

// noDigest stands for a digest, which needs Reroll's key. First sight compares no digests, so it equals none.
const noDigest = "none"

// state asks the rules of the dispatcher about a config that has no entry.
func (s inspection) state(c reloader.Config, by dialect.Decision, carried plan.Carried, marked bool) (State, error) {
	k := s.Configs[c]
	switch {
	case s.recorded():
		return Recorded, nil
	case k.Absent:
		return Absent, nil
	case k.Fault != "":
		return Unknown, nil
	}
	of := plan.Case{
		Config: c, Counting: plan.CountingOf(c, by, s.Creations, false), First: plan.FirstOf(s.Workload, c, s.Now),
		Live:   applied.Live{Write: applied.Write{Version: k.Meta.ResourceVersion, Sum: noDigest}, Meta: k.Meta, Seen: s.Now},
		Wanted: true, Dormant: s.Workload.Dormant,
	}
	if of.First.Mark == "" {
		of.First.Mark = plan.MarkNone
		if marked {
			values, known := s.values(carried.Dialect, c)
			if !known {
				return Unknown, nil
			}
			of.First.Mark = carried.Says(values, of.Counting.Creation)
		}
	}
	v := plan.Decide(of)
	if v.Need == plan.NeedPods {
		var pods workload.Pods
		if s.Workload.Roll() == workload.InPlace {
			var err error
			if pods, err = s.Pods(); err != nil {
				return Unknown, err
			}
		}
		of.Pods = &pods
		v = plan.Decide(of)
	}
	if v.Do == plan.Roll {
		return Missed, nil
	}
	return State(v.Reason), nil
}

// recorded reports whether Reroll has rolled the workload, or the object whose template it runs, so that the first sight is over.
func (s inspection) recorded() bool {
	via := s.Workload.Via
	return s.Workload.Annotations[applied.Key] != "" || via != nil && via.Annotations[applied.Key] != ""
}

// values returns the marks of d for c as it was read, and whether everything that they cover was read.
func (s inspection) values(d *dialect.Dialect, c reloader.Config) ([]string, bool) {
	if d.Joint == nil {
		k := s.Configs[c]
		if k.Content.IsZero() {
			return nil, k.Absent
		}
		return d.Of(s.Dialects.Values(k.Content)), true
	}
	parts, known := map[reloader.Config]dialect.Part{}, true
	only := s.plan.Only(d)
	for _, of := range only.Names {
		k, there := s.Configs[of]
		known = known && there && k.Fault == "" && (k.Absent || !k.Content.IsZero())
		if there && !k.Absent && k.Fault == "" && s.plan.Shows(metaOf(of, k)) {
			parts[of] = dialect.Part{UID: k.Meta.UID, ResourceVersion: k.Meta.ResourceVersion, Sum: noDigest, Content: k.Content}
		}
	}
	return d.Joint.Values(s.Workload, parts), known
}

func metaOf(c reloader.Config, k Known) dialect.ConfigMeta {
	return dialect.ConfigMeta{Config: c, Annotations: k.Meta.Annotations, Labels: k.Meta.Labels, Unselected: k.Meta.Unselected}
}
