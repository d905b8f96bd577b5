package adoption

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// View is how an installation of Reroll reads workloads.
type View struct {
	// All is every dialect, and Dialects are those that the installation reads.
	All, Dialects dialect.Set
	// Strategy is the name of the installation's strategy.
	Strategy string
	// Creations says that the creation of a config counts as a change for every workload.
	Creations bool
	// Now is when the ledger is born.
	Now time.Time
}

// Known is what was read of one config.
type Known struct {
	// Fault is why it could not be read; empty if it could, or if it is Absent.
	Fault  string
	Absent bool
	Meta   live.Meta
	// Content is zero if only the metadata was read.
	Content digest.Content
}

// Names are the names of the configs of one namespace, by kind. A kind that could not be listed is not there.
type Names map[reloader.ConfigKind][]string

// Input is one workload with what was read for it. Configs has every config that Wants returned. Pods reads the workload's pods; it is called only
// if they matter.
type Input struct {
	Workload *workload.Workload
	Configs  map[reloader.Config]Known
	Names    Names
	Pods     func() (workload.Pods, error)
}

// Report is what Reroll does with one workload.
type Report struct {
	Workload reloader.WorkloadRef `json:"workload"`
	// Tools are those that have left something on it.
	Tools []Trace `json:"tools"`
	// Findings are what needs attention.
	Findings []Finding `json:"findings"`
	// Dialects are the names of those that it is opted in to, and Configs are the configs that roll it.
	Dialects []string   `json:"dialects"`
	Configs  []Forecast `json:"configs"`
	// Rolls says that the first start of Reroll rolls it, and Unknown that a config could not be read.
	Rolls   bool `json:"rolls"`
	Unknown bool `json:"unknown"`
}

// inspection is an Input with the plan of its workload.
type inspection struct {
	View
	Input
	plan dialect.Plan
}

// enabled returns the names of the dialects that the workload is opted in to.
func (s inspection) enabled() []string {
	return append([]string{}, dialect.Set(s.plan.Enabled).Names()...)
}

// Touched reports whether a tool has left anything on w, or w has a key that looks like one of a tool's. Only such workloads have a Report.
func (v View) Touched(w *workload.Workload) bool {
	foreign := slices.ContainsFunc(traces(v.All, w), func(t Trace) bool { return t.Dialect != own })
	return foreign || len(v.keys(w)) > 0 || len(leftovers(w)) > 0
}

// Wants returns the configs that the Report of w needs, and whether it needs their contents.
func (v View) Wants(w *workload.Workload, names Names) (configs []reloader.Config, contents bool) {
	plan := v.Dialects.Compile(w)
	configs = slices.DeleteFunc(slices.Clone(plan.Names), func(c reloader.Config) bool { return c.Cluster != "" })
	for _, p := range plan.Patterns {
		for _, name := range names[p.Kind] {
			if p.Match(name) {
				configs = append(configs, reloader.Config{Kind: p.Kind, Namespace: w.Namespace, Name: name})
			}
		}
	}
	slices.SortFunc(configs, reloader.Config.Compare)
	marked := slices.ContainsFunc(traces(v.Dialects, w), func(t Trace) bool { return len(t.Marks) > 0 })
	return slices.Compact(configs), marked
}

// Report says what Reroll does with a workload. It fails if the pods matter and cannot be read.
func (v View) Report(in Input) (Report, error) {
	s := inspection{View: v, Input: in, plan: v.Dialects.Compile(in.Workload)}
	r := Report{Workload: in.Workload.Ref(), Tools: traces(v.All, in.Workload), Findings: s.findings(), Dialects: s.enabled()}
	var err error
	r.Configs, err = s.forecasts()
	for _, f := range r.Configs {
		r.Rolls, r.Unknown = r.Rolls || f.State == Missed, r.Unknown || f.State == Unknown
	}
	return r, err
}
