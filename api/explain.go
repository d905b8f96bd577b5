package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// ExplainFilter is which config a workload is explained for.
type ExplainFilter struct {
	ConfigKind string `query:"configKind" enum:"ConfigMap,Secret,SecretProviderClass" doc:"The config's kind. Without kind and name, every dependency is explained."`
	ConfigName string `query:"configName" maxLength:"253" doc:"The config's name; its namespace is the workload's."`
}

type explainInput struct {
	WorkloadPath
	Paging
	ExplainFilter
}

// explain answers also for what is not on record: that nothing is, is the explanation.
func (a *server) explain(_ context.Context, in *explainInput) (*listed[view.Explanation], error) {
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
		if state, ok := a.records.Config(projection.ConfigKey{Cluster: in.Cluster, Config: c}); ok {
			e.ConfigState = state
		}
		if e.ConfigState != nil && e.ConfigState.Latest != nil {
			e.Reloads = a.records.ReloadsOf(e.ConfigState.Latest.ID)
		}
		explanations = append(explanations, view.Explain(e))
	}
	if explanations == nil && e.Workload == nil {
		return nil, a.missing("workload")
	}
	b := bind("explain", []any{in.WorkloadPath, in.ExplainFilter})
	return byKey(a, in.Paging, b, explanations, func(x view.Explanation) string { return x.Config.Kind + "\x00" + x.Config.Name })
}

func configsToExplain(in *explainInput, w *reloader.WorkloadRecord) []reloader.Config {
	if in.ConfigName != "" {
		return []reloader.Config{{Kind: reloader.ConfigKind(in.ConfigKind), Namespace: in.Namespace, Name: in.ConfigName}}
	}
	var configs []reloader.Config
	if w != nil {
		for _, e := range w.Edges {
			configs = append(configs, e.Config)
		}
	}
	return configs
}
