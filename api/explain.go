package api

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// getWorkloadInput may narrow the explanations of a workload to some of its configs. A config that is named without its namespace or cluster is in those of
// the workload.
type getWorkloadInput struct {
	WorkloadPath
	ConfigFilter
}

type workloadOutput struct {
	Body view.Explained
}

func (a *server) getWorkload(ctx context.Context, in *getWorkloadInput) (*workloadOutput, error) {
	if (in.ConfigKind == "") != (in.ConfigName == "") {
		return nil, huma.Error422UnprocessableEntity("The parameters configKind and configName belong together.")
	}
	w, ok := a.records.Workload(in.key())
	if !ok || !a.reach(ctx).sees(in.Cluster, in.Namespace) {
		if !a.records.CaughtUp() {
			return nil, stillReading()
		}
		return nil, huma.Error404NotFound(verdict.Judge(verdict.Case{Cluster: in.Cluster, Workload: in.key().Workload}).Message)
	}
	c, _ := a.records.Cluster(in.Cluster)
	now := time.Now()
	body := view.Explained{Workload: view.FromWorkload(w, c, now), Explanations: []view.Explanation{}, Warnings: a.warnings(ctx, in.ConfigCluster)}
	for _, config := range configsToExplain(in, w) {
		body.Explanations = append(body.Explanations, a.explain(view.CaseOf(w, c, now), config))
	}
	return &workloadOutput{Body: body}, nil
}

// explain says how a workload stands to a config.
func (a *server) explain(of verdict.Case, config reloader.Config) view.Explanation {
	w, x, last := of.Record, view.Explanation{Config: config}, false
	if state, ok := a.records.Config(projection.KeyOf(w.Cluster, config)); ok && state.Latest != nil && tellsOf(w, config, state.Latest) {
		x.Change = state.Latest
		last = slices.ContainsFunc(a.records.ReloadsOf(state.Latest), func(r *reloader.Reload) bool { return r.ID == w.LastReload && r.Workload == w.Workload })
	}
	x.Verdict = of.Of(config, last)
	return x
}

// tellsOf reports whether an explanation of w may have the newest change of c. Who may see w need not be allowed to see configs of other
// namespaces and clusters. Of these it tells the change that the record of w names, which their owners have let it know of.
func tellsOf(w *reloader.WorkloadRecord, c reloader.Config, latest *reloader.Change) bool {
	if c.Cluster == "" && c.Namespace == w.Workload.Namespace {
		return true
	}
	return slices.ContainsFunc(w.Edges, func(e reloader.Edge) bool {
		named := e.Pending == latest.ID || e.Applied.Sum != "" && strings.HasPrefix(latest.New.Sum, e.Applied.Sum)
		return e.Config == c && e.Why != reloader.ReasonNotShared && named
	})
}

// configsToExplain returns those of the workload's configs that are asked for, or else the one that is named.
func configsToExplain(in *getWorkloadInput, w *reloader.WorkloadRecord) (configs []reloader.Config) {
	f := in.ConfigFilter
	if f.ConfigName != "" {
		f.ConfigNamespace, f.ConfigCluster = cmp.Or(f.ConfigNamespace, in.Namespace), cmp.Or(f.ConfigCluster, in.Cluster)
	}
	for _, e := range w.Edges {
		if f.about(in.Cluster, e.Config) {
			configs = append(configs, e.Config)
		}
	}
	if f.ConfigName == "" || len(configs) > 0 {
		return configs
	}
	named := reloader.Config{Cluster: f.ConfigCluster, Kind: f.ConfigKind, Namespace: f.ConfigNamespace, Name: f.ConfigName}
	if named.Cluster == in.Cluster {
		named.Cluster = ""
	}
	return []reloader.Config{named}
}
