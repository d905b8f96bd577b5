package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// WorkloadFilter is what a listing of workloads can be narrowed to. An empty field does not narrow it. One dependency must meet
// all that is said about dependencies.
type WorkloadFilter struct {
	Cluster   string `query:"cluster" maxLength:"63" example:"local" doc:"Only workloads in this cluster."`
	Namespace string `query:"namespace" maxLength:"63" example:"shop" doc:"Only workloads in this namespace."`
	Kind      string `query:"kind" enum:"Deployment,StatefulSet,DaemonSet,CronJob,Job,Rollout,DeploymentConfig" doc:"Only workloads of this kind." example:"Deployment"`
	Name      string `query:"name" maxLength:"253" doc:"Only workloads of this name."`
	ConfigFilter
}

func (f *WorkloadFilter) match(w *reloader.WorkloadRecord) bool {
	return is(f.Cluster, w.Cluster) &&
		is(f.Namespace, w.Workload.Namespace) &&
		is(f.Kind, w.Workload.Kind) &&
		is(f.Name, w.Workload.Name) &&
		f.matchEdges(w)
}

func (f *WorkloadFilter) matchEdges(w *reloader.WorkloadRecord) bool {
	return f.all() || slices.ContainsFunc(w.Edges, func(e reloader.Edge) bool { return f.about(w.Cluster, e.Config) })
}

// ConfigFilter is what a listing can be narrowed to by one config. An empty field does not narrow it.
type ConfigFilter struct {
	ConfigKind      reloader.ConfigKind `query:"configKind" doc:"Only what is about a config of this kind."`
	ConfigName      string              `query:"configName" maxLength:"253" example:"settings" doc:"Only what is about a config of this name."`
	ConfigNamespace string              `query:"configNamespace" maxLength:"63" example:"shop" doc:"Only what is about a config of this namespace, which need not be the workload's own."`
	ConfigCluster   string              `query:"configCluster" maxLength:"63" example:"local" doc:"Only what is about a config of this cluster, which need not be the workload's own."`
}

func (f *ConfigFilter) all() bool { return *f == ConfigFilter{} }

// about judges a config that a record of a cluster names.
func (f *ConfigFilter) about(cluster string, c reloader.Config) bool {
	return is(f.ConfigKind, c.Kind) && is(f.ConfigName, c.Name) && is(f.ConfigNamespace, c.Namespace) && is(f.ConfigCluster, cmp.Or(c.Cluster, cluster))
}

// StateFilter is what a listing of workloads can be narrowed to by their verdicts.
type StateFilter struct {
	WorkloadFilter
	State     view.State `query:"state" doc:"Only workloads in this state."`
	Unsettled bool       `query:"unsettled" doc:"Only workloads that wait or need attention."`
	Restarts  bool       `query:"restarts" doc:"Only workloads whose strategy is http, refresh or exec and that a change of some config would restart instead."`
}

func (f *StateFilter) match(v verdict.Verdict) bool {
	return is(f.State, v.State) && (!f.Unsettled || !v.State.Settled())
}

func (f *StateFilter) matchRestarts(w *reloader.WorkloadRecord) bool {
	return !f.Restarts || slices.ContainsFunc(w.Edges, func(e reloader.Edge) bool { return e.Restarts != "" })
}

// judged returns a workload with how it stands at a time.
func (a *server) judged(w *reloader.WorkloadRecord, now time.Time) view.Workload {
	c, _ := a.records.Cluster(w.Cluster)
	return view.FromWorkload(w, c, now)
}

type listWorkloadsInput struct {
	Paging
	StateFilter
}

func (a *server) listWorkloads(ctx context.Context, in *listWorkloadsInput) (*listed[view.Workload], error) {
	now, sight := time.Now(), a.reach(ctx)
	show := func(w *reloader.WorkloadRecord) view.Workload { return a.judged(w, now) }
	match := func(w *reloader.WorkloadRecord) bool {
		narrowed := in.State != "" || in.Unsettled
		return in.WorkloadFilter.match(w) && in.matchRestarts(w) && sight.sees(w.Cluster, w.Workload.Namespace) &&
			(!narrowed || in.StateFilter.match(a.judged(w, now).Verdict))
	}
	return listing(ctx, a, "workloads", in.Paging, in.StateFilter, show,
		func(from string, limit int) (projection.Page[reloader.WorkloadRecord], error) {
			return a.records.Workloads(from, limit, match)
		}, in.Cluster, in.ConfigCluster)
}

// WorkloadPath names one workload.
type WorkloadPath struct {
	Cluster   string `path:"cluster" maxLength:"63" example:"local" doc:"The workload's cluster."`
	Namespace string `path:"namespace" maxLength:"63" example:"shop" doc:"The workload's namespace."`
	Kind      string `path:"kind" maxLength:"63" doc:"The workload's kind." example:"Deployment"`
	Name      string `path:"name" maxLength:"253" example:"cart" doc:"The workload's name."`
}

func (p WorkloadPath) key() projection.WorkloadKey {
	return projection.WorkloadKey{
		Cluster:  p.Cluster,
		Workload: reloader.WorkloadRef{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name},
	}
}
