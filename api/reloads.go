package api

import (
	"context"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// ReloadFilter is what a listing of reloads can be narrowed to. An empty field does not narrow it. One cause must meet all that
// is said about causes.
type ReloadFilter struct {
	Cluster   string       `query:"cluster" maxLength:"63" example:"local" doc:"Only reloads in this cluster."`
	Namespace string       `query:"namespace" maxLength:"63" example:"shop" doc:"Only reloads of workloads in this namespace."`
	Kind      string       `query:"kind" enum:"Deployment,StatefulSet,DaemonSet,CronJob,Job,Rollout,DeploymentConfig" doc:"Only reloads of workloads of this kind." example:"Deployment"`
	Name      string       `query:"name" maxLength:"253" doc:"Only reloads of workloads of this name."`
	Change    string       `query:"change" maxLength:"64" doc:"Only reloads that the change of this ID caused."`
	Outcome   view.Outcome `query:"outcome" doc:"Only reloads with this outcome."`
	Since     time.Time    `query:"since" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$" patternDescription:"RFC 3339" doc:"Only reloads decided at this time or later (RFC 3339)."`
	ConfigFilter
}

func (f *ReloadFilter) match(r *reloader.Reload) bool {
	return is(f.Cluster, r.Cluster) &&
		is(f.Namespace, r.Workload.Namespace) &&
		is(f.Kind, r.Workload.Kind) &&
		is(f.Name, r.Workload.Name) &&
		is(string(f.Outcome), r.Outcome) &&
		!r.DecidedAt.Before(f.Since) &&
		f.matchCauses(r)
}

func (f *ReloadFilter) matchCauses(r *reloader.Reload) bool {
	if f.Change == "" && f.all() {
		return true
	}
	return slices.ContainsFunc(r.Causes, func(c reloader.Cause) bool { return f.about(r.Cluster, c.Config) && is(f.Change, c.ChangeID) })
}

type listReloadsInput struct {
	Paging
	ReloadFilter
}

func (a *server) listReloads(ctx context.Context, in *listReloadsInput) (*listed[reloader.Reload], error) {
	sight := a.reach(ctx)
	return listing(ctx, a, "reloads", in.Paging, in.ReloadFilter, func(r *reloader.Reload) reloader.Reload { return *r },
		func(from string, limit int) (projection.Page[reloader.Reload], error) {
			return a.records.Reloads(from, limit, func(r *reloader.Reload) bool { return in.match(r) && sight.sees(r.Cluster, r.Workload.Namespace) })
		}, in.Cluster)
}

type getReloadInput struct {
	ID      string `path:"id" maxLength:"64" doc:"The reload's ID."`
	Cluster string `query:"cluster" maxLength:"63" example:"local" doc:"The reload's cluster: required if several clusters have a reload of this ID."`
}

type reloadOutput struct {
	Body reloader.Reload
}

func (a *server) getReload(ctx context.Context, in *getReloadInput) (*reloadOutput, error) {
	r, err := oneNamed(ctx, a, resourceReloads, in.Cluster, a.records.ReloadsNamed(in.ID), func(r *reloader.Reload) (string, string) {
		return r.Cluster, r.Workload.Namespace
	})
	if err != nil {
		return nil, err
	}
	return &reloadOutput{Body: *r}, nil
}
