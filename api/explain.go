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
)

// ExplainFilter is which config a workload is explained for.
type ExplainFilter struct {
	ConfigKind string `query:"configKind" enum:"ConfigMap,Secret,SecretProviderClass" doc:"The config's kind. Without kind and name, every dependency is explained."`
	ConfigName string `query:"configName" maxLength:"253" doc:"The config's name."`

	ConfigNamespace string `query:"configNamespace" maxLength:"63" doc:"The config's namespace. The workload's own if a config is named without it."`
	ConfigCluster   string `query:"configCluster" maxLength:"63" doc:"The config's cluster. The workload's own if a config is named without it."`
}

func (f ExplainFilter) clusters() []string { return []string{f.ConfigCluster} }

type explainInput struct {
	WorkloadPath
	Paging
	ExplainFilter
}

type explainOutput struct {
	Body view.Explained
}

// explain answers also for what is not on record: that nothing is, is the explanation.
func (a *server) explain(ctx context.Context, in *explainInput) (*explainOutput, error) {
	if (in.ConfigKind == "") != (in.ConfigName == "") {
		return nil, huma.Error422UnprocessableEntity("The parameters configKind and configName belong together.")
	}
	e := view.Evidence{Key: in.key(), Now: time.Now()}
	e.Workload, _ = a.records.Workload(e.Key)
	e.Cluster, _ = a.records.Cluster(in.Cluster)
	var explanations []view.Explanation
	for _, c := range configsToExplain(in, e.Workload) {
		e.Config = c
		e.ConfigState, e.Reloads = nil, nil
		if state, ok := a.records.Config(projection.KeyOf(in.Cluster, c)); ok && tellsOf(e.Workload, c, state.Latest) {
			e.ConfigState = state
		}
		if e.ConfigState != nil && e.ConfigState.Latest != nil {
			e.Reloads = a.records.ReloadsOf(e.ConfigState.Latest)
		}
		explanations = append(explanations, view.Explain(e))
	}
	if e.Workload == nil && !a.records.CaughtUp() {
		return nil, stillReading()
	}
	q := question{Paging: in.Paging, binding: bind("explain", []any{in.WorkloadPath, in.ExplainFilter}), clusters: in.clusters()}
	page, err := byKey(ctx, a, q, explanations, func(x view.Explanation) string {
		return strings.Join([]string{x.Config.Cluster, x.Config.Namespace, x.Config.Kind, x.Config.Name}, "\x00")
	})
	if err != nil {
		return nil, err
	}
	return &explainOutput{Body: view.Explained{Verdict: e.Verdict(), List: page.Body}}, nil
}

// tellsOf reports whether an explanation of w may tell of the newest change of c. Who may see w need not be allowed to see configs of other
// namespaces and clusters. Of these it tells the change that the record of w names, which their owners have let it know of.
func tellsOf(w *reloader.WorkloadRecord, c reloader.Config, latest *reloader.Change) bool {
	if w == nil || latest == nil || c.Cluster == "" && c.Namespace == w.Workload.Namespace {
		return true
	}
	return slices.ContainsFunc(w.Edges, func(e reloader.Edge) bool {
		named := e.Pending == latest.ID || e.Handled.KeyID == latest.New.KeyID && e.Handled.Sum == latest.New.Sum
		return e.Config == c && e.Why != reloader.ReasonNotShared && named
	})
}

// configsToExplain returns those of the workload's configs that are asked for, or else the one that is named.
func configsToExplain(in *explainInput, w *reloader.WorkloadRecord) (configs []reloader.Config) {
	f := in.ExplainFilter
	if f.ConfigName != "" {
		f.ConfigNamespace, f.ConfigCluster = cmp.Or(f.ConfigNamespace, in.Namespace), cmp.Or(f.ConfigCluster, in.Cluster)
	}
	if w != nil {
		for _, e := range w.Edges {
			if f.match(projection.KeyOf(in.Cluster, e.Config)) {
				configs = append(configs, e.Config)
			}
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
