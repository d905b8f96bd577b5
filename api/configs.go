package api

import (
	"context"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// ConfigFilter is what a listing of configs can be narrowed to. An empty field does not narrow it.
type ConfigFilter struct {
	Cluster   string `query:"cluster" maxLength:"63" doc:"Only configs in this cluster."`
	Namespace string `query:"namespace" maxLength:"63" doc:"Only configs in this namespace."`
	Kind      string `query:"kind" enum:"ConfigMap,Secret,SecretProviderClass" doc:"Only configs of this kind."`
	Name      string `query:"name" maxLength:"253" doc:"Only configs of this name."`
}

func (f *ConfigFilter) match(k projection.ConfigKey) bool {
	return is(f.Cluster, k.Cluster) &&
		is(f.Namespace, k.Config.Namespace) &&
		is(f.Kind, k.Config.Kind) &&
		is(f.Name, k.Config.Name)
}

type listConfigsInput struct {
	Paging
	ConfigFilter
}

func (a *server) listConfigs(ctx context.Context, in *listConfigsInput) (*listed[view.ConfigState], error) {
	q := asked("configs", in.Paging, in.ConfigFilter)
	position, err := q.position()
	if err != nil {
		return nil, cursorProblem(err)
	}
	after, err := decodeConfigKey(position)
	if err != nil {
		return nil, cursorProblem(err)
	}
	done, err := a.scans.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	page := a.records.Configs(after, in.Limit, in.match)
	next := ""
	if page.Next != (projection.ConfigKey{}) {
		next = encodeCursor(q.binding, encodeConfigKey(page.Next))
	}
	s := a.sightFrom(ctx, in.Namespace, listWorkloads)
	list := answer(ctx, a, q, page.Items, func(c *projection.ConfigState) view.ConfigState { return configIn(s, c) }, next)
	list.Body.Warnings = append(list.Body.Warnings, s.warnings()...)
	return list, s.fault
}

// configIn returns the view of a config, without the dependents that may not be shown.
func configIn(s *sight, c *projection.ConfigState) view.ConfigState {
	shown := *c
	shown.Dependents = s.visible(c.Dependents)
	v := view.FromConfig(&shown)
	v.Partial = len(shown.Dependents) < len(c.Dependents)
	return v
}

// ConfigPath names one config.
type ConfigPath struct {
	Cluster   string `path:"cluster" maxLength:"63" doc:"The config's cluster."`
	Namespace string `path:"namespace" maxLength:"63" doc:"The config's namespace."`
	Kind      string `path:"kind" maxLength:"63" doc:"The config's kind." example:"ConfigMap"`
	Name      string `path:"name" maxLength:"253" doc:"The config's name."`
}

func (p ConfigPath) key() projection.ConfigKey {
	return projection.ConfigKey{
		Cluster: p.Cluster,
		Config:  reloader.Config{Kind: reloader.ConfigKind(p.Kind), Namespace: p.Namespace, Name: p.Name},
	}
}

type getConfigInput struct{ ConfigPath }

type configOutput struct {
	Body view.ConfigState
}

func (a *server) getConfig(ctx context.Context, in *getConfigInput) (*configOutput, error) {
	c, ok := a.records.Config(in.key())
	if !ok {
		return nil, a.missing("config")
	}
	s := a.sightFrom(ctx, in.Namespace, listWorkloads)
	return &configOutput{Body: configIn(s, c)}, s.fault
}
