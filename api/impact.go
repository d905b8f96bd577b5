package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// Limits of a question about impact.
const (
	maxImpactConfigs = 100
	maxImpactBody    = 64 << 10
)

// SupposedChange is one config that is supposed to change.
type SupposedChange struct {
	Cluster   string   `json:"cluster" minLength:"1" maxLength:"63" doc:"The config's cluster."`
	Kind      string   `json:"kind" enum:"ConfigMap,Secret,SecretProviderClass" doc:"The config's kind."`
	Namespace string   `json:"namespace" minLength:"1" maxLength:"63" doc:"The config's namespace."`
	Name      string   `json:"name" minLength:"1" maxLength:"253" doc:"The config's name."`
	Keys      []string `json:"keys,omitempty" required:"false" maxItems:"100" doc:"The keys that are supposed to change. Any if absent."`
}

// ImpactQuestion is several configs that are supposed to change.
type ImpactQuestion struct {
	Configs []SupposedChange `json:"configs" nullable:"false" minItems:"1" maxItems:"100" doc:"The configs that are supposed to change."`
}

type listImpactInput struct {
	Body ImpactQuestion
}

type impactsOutput struct {
	Body view.Impacts
}

func (a *server) listImpact(ctx context.Context, in *listImpactInput) (*impactsOutput, error) {
	sight := a.reach(ctx)
	for _, c := range in.Body.Configs {
		if err := a.permit(ctx, Deed{Verb: "get", Resource: resourceConfigs, Namespace: c.Namespace, Name: c.Name}); err != nil {
			return nil, err
		}
		if !sight.sees(c.Cluster, c.Namespace) {
			return nil, huma.Error403Forbidden("You may not see the configs of namespace " + c.Namespace + " of cluster " + c.Cluster + ".")
		}
	}
	impacts := make([]view.Impact, 0, min(len(in.Body.Configs), maxImpactConfigs))
	complete := true
	for _, c := range in.Body.Configs {
		config := reloader.Config{Kind: reloader.ConfigKind(c.Kind), Namespace: c.Namespace, Name: c.Name}
		impact, err := a.impact(ctx, projection.KeyOf(c.Cluster, config), c.Keys)
		if err != nil {
			return nil, err
		}
		impacts = append(impacts, impact)
		complete = complete && impact.Complete
	}
	return &impactsOutput{Body: view.Impacts{List: view.List[view.Impact]{Items: impacts, Warnings: a.warnings(ctx)}, Complete: complete}}, nil
}

func (a *server) impact(ctx context.Context, key projection.ConfigKey, keys []string) (view.Impact, error) {
	s := view.Supposed{Key: key, Keys: keys, Clusters: map[string]*projection.ClusterState{}, Now: time.Now()}
	seen := a.sightFrom(ctx, key.Config.Namespace, listWorkloads)
	if state, ok := a.records.Config(key); ok {
		for _, dependent := range seen.visible(state.Dependents) {
			if w, ok := a.records.Workload(dependent); ok {
				s.Dependents = append(s.Dependents, w)
			}
		}
	}
	for _, name := range s.Reaches() {
		if c, ok := a.records.Cluster(name); ok {
			s.Clusters[name] = c
		}
	}
	impact, doubts := view.FromSupposed(s), append(a.warnings(ctx), seen.warnings()...)
	doubts = append(doubts, a.doubts(ctx, func(c *projection.ClusterState) bool { // where there may be followers that are not on record yet
		return a.records.CaughtUp() && s.Clusters[c.Name] == nil && !a.silent(c, s.Now)
	})...)
	impact.Complete = impact.Complete && len(doubts) == 0
	impact.Warnings = append(impact.Warnings, doubts...)
	return impact, seen.fault
}
