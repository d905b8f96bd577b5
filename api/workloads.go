package api

import (
	"cmp"
	"context"
	"slices"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// WorkloadFilter is what a listing of workloads can be narrowed to. An empty field does not narrow it. One dependency must meet
// all that is said about dependencies.
type WorkloadFilter struct {
	Cluster    string `query:"cluster" maxLength:"63" doc:"Only workloads in this cluster."`
	Namespace  string `query:"namespace" maxLength:"63" doc:"Only workloads in this namespace."`
	Kind       string `query:"kind" maxLength:"63" doc:"Only workloads of this kind." example:"Deployment"`
	Name       string `query:"name" maxLength:"253" doc:"Only workloads of this name."`
	ConfigKind string `query:"configKind" enum:"ConfigMap,Secret,SecretProviderClass" doc:"Only workloads that depend on a config of this kind."`
	ConfigName string `query:"configName" maxLength:"253" doc:"Only workloads that depend on a config of this name."`

	ConfigNamespace string `query:"configNamespace" maxLength:"63" doc:"Only workloads that depend on a config of this namespace, which need not be their own."`
	ConfigCluster   string `query:"configCluster" maxLength:"63" doc:"Only workloads that depend on a config of this cluster, which need not be their own."`
}

func (f *WorkloadFilter) match(w *reloader.WorkloadRecord) bool {
	return is(f.Cluster, w.Cluster) &&
		is(f.Namespace, w.Workload.Namespace) &&
		is(f.Kind, w.Workload.Kind) &&
		is(f.Name, w.Workload.Name) &&
		f.matchEdges(w)
}

func (f *WorkloadFilter) matchEdges(w *reloader.WorkloadRecord) bool {
	if f.ConfigKind == "" && f.ConfigName == "" && f.ConfigNamespace == "" && f.ConfigCluster == "" {
		return true
	}
	return slices.ContainsFunc(w.Edges, func(e reloader.Edge) bool { return f.matchConfig(w, e.Config) })
}

// matchConfig judges what the filter says about one config of a workload.
func (f *WorkloadFilter) matchConfig(w *reloader.WorkloadRecord, c reloader.Config) bool {
	return is(f.ConfigKind, c.Kind) &&
		is(f.ConfigName, c.Name) &&
		is(f.ConfigNamespace, c.Namespace) &&
		is(f.ConfigCluster, cmp.Or(c.Cluster, w.Cluster))
}

type listWorkloadsInput struct {
	Paging
	WorkloadFilter
}

func (a *server) listWorkloads(ctx context.Context, in *listWorkloadsInput) (*listed[view.Workload], error) {
	return byWorkload(ctx, a, asked("workloads", in.Paging, in.WorkloadFilter), view.FromWorkload,
		func(after projection.WorkloadKey, limit int) projection.WorkloadPage {
			return a.records.Workloads(after, limit, in.match)
		})
}

// WorkloadPath names one workload.
type WorkloadPath struct {
	Cluster   string `path:"cluster" maxLength:"63" doc:"The workload's cluster."`
	Namespace string `path:"namespace" maxLength:"63" doc:"The workload's namespace."`
	Kind      string `path:"kind" maxLength:"63" doc:"The workload's kind." example:"Deployment"`
	Name      string `path:"name" maxLength:"253" doc:"The workload's name."`
}

func (p WorkloadPath) key() projection.WorkloadKey {
	return projection.WorkloadKey{
		Cluster:  p.Cluster,
		Workload: reloader.WorkloadRef{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name},
	}
}

type getWorkloadInput struct{ WorkloadPath }

type workloadOutput struct {
	Body view.Workload
}

func (a *server) getWorkload(_ context.Context, in *getWorkloadInput) (*workloadOutput, error) {
	w, ok := a.records.Workload(in.key())
	if !ok {
		return nil, a.missing("workload")
	}
	return &workloadOutput{Body: view.FromWorkload(w)}, nil
}
