package api

import (
	"context"
	"slices"
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
	Cluster   string              `json:"cluster" minLength:"1" maxLength:"63" doc:"The config's cluster."`
	Kind      reloader.ConfigKind `json:"kind" doc:"The config's kind."`
	Namespace string              `json:"namespace" minLength:"1" maxLength:"63" doc:"The config's namespace."`
	Name      string              `json:"name" minLength:"1" maxLength:"253" doc:"The config's name."`
	Keys      []string            `json:"keys,omitempty" required:"false" maxItems:"100" doc:"The keys that are supposed to change. Any if absent."`
}

// ImpactQuestion is several configs that are supposed to change.
type ImpactQuestion struct {
	Configs []SupposedChange `json:"configs" nullable:"false" minItems:"1" maxItems:"100" doc:"The configs that are supposed to change."`
}

type listImpactInput struct {
	Body ImpactQuestion
}

type impactsOutput struct {
	Body view.List[view.Impact]
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
	now := time.Now()
	general, late := a.warnings(ctx), a.late(now)
	for _, c := range in.Body.Configs {
		config := reloader.Config{Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}
		s := view.Supposed{Key: projection.KeyOf(c.Cluster, config), Keys: c.Keys, Clusters: map[string]*projection.ClusterState{}, Now: now}
		seen := a.suppose(ctx, &s)
		if seen.fault != nil {
			return nil, seen.fault
		}
		// Where there may be followers that are not on record yet.
		elsewhere := a.doubts(ctx, late, func(c *projection.ClusterState) bool { return s.Clusters[c.Name] == nil })
		impact, doubts := view.FromSupposed(s), slices.Concat(general, seen.warnings(), elsewhere)
		impact.Complete = impact.Complete && len(doubts) == 0
		impact.Warnings = append(impact.Warnings, doubts...)
		impacts = append(impacts, impact)
	}
	return &impactsOutput{Body: view.List[view.Impact]{Items: impacts, Warnings: general}}, nil
}

// suppose adds what is on record about a change, as far as it may be shown.
func (a *server) suppose(ctx context.Context, s *view.Supposed) *sight {
	seen := a.sightFrom(ctx, s.Key.Config.Namespace, listWorkloads)
	if state, ok := a.records.Config(s.Key); ok {
		for _, key := range state.Dependents {
			w, ok := a.records.Workload(key)
			if seen.of(key.Cluster, key.Workload.Namespace) && ok {
				s.Dependents = append(s.Dependents, w)
			}
		}
	}
	for _, name := range s.Reaches() {
		if c, ok := a.records.Cluster(name); ok {
			s.Clusters[name] = c
		}
	}
	return seen
}
