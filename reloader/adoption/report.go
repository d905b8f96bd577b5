package adoption

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// View is how an installation of Reroll will look at workloads.
type View struct {
	// All is every dialect, and Dialects are those that the installation reads.
	All, Dialects dialect.Set
	// Strategy is the name of the installation's strategy.
	Strategy string
	// Creations says that a config that is created counts as changed, whoever asks for it.
	Creations bool
}

// Known is what was read of one config.
type Known struct {
	// Fault is why it could not be read; empty if it could, or if it is Absent.
	Fault  string
	Absent bool
	Meta   live.Meta
	// Content is zero if only its metadata was read.
	Content digest.Content
}

// Names are the names of the configs of one namespace, by kind. A kind that could not be listed is not there.
type Names map[reloader.ConfigKind][]string

// Report is what becomes of one workload.
type Report struct {
	Workload reloader.WorkloadRef `json:"workload"`
	// Tools are those that have left something on it.
	Tools []Trace `json:"tools"`
	// Findings are what somebody should look at.
	Findings []Finding `json:"findings"`
	// Dialects are the names of those by which it will be rolled, and Configs the configs that will roll it.
	Dialects []string `json:"dialects"`
	Configs  []Fate   `json:"configs"`
	// Rolls says that moving in rolls it once.
	Rolls bool `json:"rolls"`
	// Unknown says that this could not be found out of some config.
	Unknown bool `json:"unknown"`
}

// FindingKind says what is wrong.
type FindingKind string

// The kinds of finding.
const (
	// Conflict is that several tools look after a workload.
	Conflict FindingKind = "Conflict"
	// Typo is a name or a key that is most likely not what was meant.
	Typo FindingKind = "Typo"
	// Leftover is what a tool has written for the moment, and has to take back itself.
	Leftover FindingKind = "Leftover"
)

// Finding is something about one workload, and how to mend it.
type Finding struct {
	Kind    FindingKind `json:"kind"`
	Message string      `json:"message"`
	Mend    string      `json:"mend"`
}

// Fate is what one config will do to the workload.
type Fate struct {
	Config reloader.Config `json:"config"`
	// Dialect is the name of the dialect by whose mark the workload is judged, Clause the annotation that asks, and Why the reason.
	Dialect string          `json:"dialect"`
	Clause  string          `json:"clause"`
	Why     reloader.Reason `json:"why"`
	State   State           `json:"state"`
	// Written is when the config's data was last written, if State is Missed; zero if nobody says.
	Written time.Time `json:"-"`
}

// State is what the marks of a workload say about one config at the moment of moving in.
type State string

// The states. Only Missed rolls the workload.
const (
	// Current: the mark is that of the present content.
	Current State = State(reloader.ReasonAlreadyCurrent)
	// Baseline: there is no mark, and what is there is where Reroll begins.
	Baseline State = State(reloader.ReasonBaseline)
	// PodsNewer: the mark is another one, and every container has started after the data was written.
	PodsNewer State = State(reloader.ReasonPodsNewer)
	// Missed: the mark is another one, so that a change was missed.
	Missed State = "Missed"
	// Dormant: a change was missed, and nothing runs that could be rolled.
	Dormant State = "Dormant"
	// Absent: the config does not exist.
	Absent State = "Absent"
	// Recorded: the mark is Reroll's own, from before, and its memory knows of what.
	Recorded State = "Recorded"
	// Unknown: the config could not be read.
	Unknown State = "Unknown"
)

// Touched reports whether a tool has left anything on w, or somebody something that looks as if it was meant for one. Only such workloads
// have a Report.
func (v View) Touched(w *workload.Workload) bool {
	foreign := slices.ContainsFunc(traces(v.All, w), func(t Trace) bool { return t.Dialect != "reroll" })
	return foreign || len(v.strange(w)) > 0 || len(v.misplaced(w)) > 0 || len(leftovers(w)) > 0
}

// Wants returns the configs that are to be read for the Report of w, and whether with their contents.
func (v View) Wants(w *workload.Workload, names Names) (configs []reloader.Config, contents bool) {
	found := map[reloader.Config]bool{}
	for c := range w.Template.References {
		found[c] = true
	}
	plan := v.Dialects.Compile(w)
	for _, c := range plan.Names {
		found[c] = true
	}
	for _, p := range plan.Patterns {
		for _, name := range names[p.Kind] {
			if p.Match(name) {
				found[reloader.Config{Kind: p.Kind, Namespace: w.Namespace, Name: name}] = true
			}
		}
	}
	for _, m := range plan.Mentions() {
		found[m.Config] = true
	}
	for c := range found {
		if c.Cluster == "" {
			configs = append(configs, c)
		}
	}
	slices.SortFunc(configs, func(a, b reloader.Config) int { return cmp.Compare(a.String(), b.String()) })
	marked := slices.ContainsFunc(traces(v.Dialects, w), func(t Trace) bool { return len(t.Marks) > 0 })
	return configs, marked
}

// Report says what becomes of w. read has every config that Wants named.
func (v View) Report(w *workload.Workload, read map[reloader.Config]Known, names Names) Report {
	s := inspection{View: v, w: w, plan: v.Dialects.Compile(w), read: read, names: names}
	r := Report{Workload: w.Ref(), Tools: traces(v.All, w), Findings: []Finding{}, Dialects: []string{}, Configs: s.fates()}
	if r.Tools == nil {
		r.Tools = []Trace{}
	}
	for _, find := range []func() []Finding{s.tools, s.problems, s.absent, s.keys} {
		r.Findings = append(r.Findings, find()...)
	}
	r.Findings = append(r.Findings, leftovers(w)...)
	r.Dialects = append(r.Dialects, s.asking()...)
	r.Settle()
	return r
}

// Settle takes what Configs say together. It is to be called again after one of them was changed.
func (r *Report) Settle() {
	is := func(s State) bool { return slices.ContainsFunc(r.Configs, func(f Fate) bool { return f.State == s }) }
	r.Rolls, r.Unknown = is(Missed), is(Unknown)
}

// Needs reports whether r has a finding of that kind.
func (r *Report) Needs(kind FindingKind) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Kind == kind })
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
