package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// ExplainFilter narrows the explanations of a workload to some of its configs.
type ExplainFilter struct {
	ConfigKind string `query:"configKind" enum:"ConfigMap,Secret,SecretProviderClass" doc:"Only the explanation for a config of this kind. Without kind and name, every dependency is explained."`
	ConfigName string `query:"configName" maxLength:"253" doc:"Only the explanation for a config of this name."`

	ConfigNamespace string `query:"configNamespace" maxLength:"63" doc:"The config's namespace. The workload's own if a config is named without it."`
	ConfigCluster   string `query:"configCluster" maxLength:"63" doc:"The config's cluster. The workload's own if a config is named without it."`
}

type getWorkloadInput struct {
	WorkloadPath
	ExplainFilter
}

type workloadOutput struct {
	Body view.Explained
}

func (a *server) getWorkload(ctx context.Context, in *getWorkloadInput) (*workloadOutput, error) {
	if (in.ConfigKind == "") != (in.ConfigName == "") {
		return nil, huma.Error422UnprocessableEntity("The parameters configKind and configName belong together.")
	}
	w, ok := a.records.Workload(in.key())
	if !ok {
		return nil, a.missing("workload")
	}
	e := view.Evidence{Key: in.key(), Workload: w, Now: time.Now()}
	e.Cluster, _ = a.records.Cluster(in.Cluster)
	body := view.Explained{Workload: view.FromWorkload(w, e.Cluster, e.Now), Explanations: []view.Explanation{}, Warnings: a.warnings(ctx, in.ConfigCluster)}
	for _, c := range configsToExplain(in, w) {
		e.Config = c
		e.ConfigState, e.Reloads = nil, nil
		if state, ok := a.records.Config(projection.KeyOf(in.Cluster, c)); ok && tellsOf(w, c, state.Latest) {
			e.ConfigState = state
		}
		if e.ConfigState != nil && e.ConfigState.Latest != nil {
			e.Reloads = a.records.ReloadsOf(e.ConfigState.Latest)
		}
		body.Explanations = append(body.Explanations, view.Explain(e))
	}
	return &workloadOutput{Body: body}, nil
}

// tellsOf reports whether an explanation of w may tell of the newest change of c. Who may see w need not be allowed to see configs of other
// namespaces and clusters. Of these it tells the change that the record of w names, which their owners have let it know of.
func tellsOf(w *reloader.WorkloadRecord, c reloader.Config, latest *reloader.Change) bool {
	if latest == nil || c.Cluster == "" && c.Namespace == w.Workload.Namespace {
		return true
	}
	return slices.ContainsFunc(w.Edges, func(e reloader.Edge) bool {
		named := e.Pending == latest.ID || e.Handled.KeyID == latest.New.KeyID && e.Handled.Sum == latest.New.Sum
		return e.Config == c && e.Why != reloader.ReasonNotShared && named
	})
}

// configsToExplain returns those of the workload's configs that are asked for, or else the one that is named.
func configsToExplain(in *getWorkloadInput, w *reloader.WorkloadRecord) (configs []reloader.Config) {
	f := in.ExplainFilter
	if f.ConfigName != "" {
		f.ConfigNamespace, f.ConfigCluster = cmp.Or(f.ConfigNamespace, in.Namespace), cmp.Or(f.ConfigCluster, in.Cluster)
	}
	for _, e := range w.Edges {
		if f.match(projection.KeyOf(in.Cluster, e.Config)) {
			configs = append(configs, e.Config)
		}
	}
	if f.ConfigName == "" || len(configs) > 0 {
		return configs
	}
	named := reloader.Config{Cluster: f.ConfigCluster, Kind: reloader.ConfigKind(f.ConfigKind), Namespace: f.ConfigNamespace, Name: f.ConfigName}
	if named.Cluster == in.Cluster {
		named.Cluster = ""
	}
	return []reloader.Config{named}
}

func (f *ExplainFilter) match(k projection.ConfigKey) bool {
	return is(f.ConfigCluster, k.Cluster) &&
		is(f.ConfigNamespace, k.Config.Namespace) &&
		is(f.ConfigKind, k.Config.Kind) &&
		is(f.ConfigName, k.Config.Name)
}
