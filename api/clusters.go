package api

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
)

// ClusterFilter is what a listing of clusters can be narrowed to. An empty field does not narrow it.
type ClusterFilter struct {
	Health string `query:"health" enum:"Healthy,Degraded,Away,Unknown" doc:"Only clusters of this health."`
}

type listClustersInput struct {
	Paging
	ClusterFilter
}

func (a *server) listClusters(ctx context.Context, in *listClustersInput) (*listed[view.Cluster], error) {
	now := time.Now()
	var clusters []view.Cluster
	for _, c := range a.records.Clusters() {
		if v := view.FromCluster(c, now); is(in.Health, v.Health) {
			clusters = append(clusters, v)
		}
	}
	return byKey(ctx, a, asked("clusters", in.Paging, in.ClusterFilter), clusters, func(c view.Cluster) string { return c.Name })
}

type getClusterInput struct {
	Cluster string `path:"cluster" maxLength:"63" doc:"The cluster's name."`
}

type clusterOutput struct {
	Body view.Cluster
}

func (a *server) getCluster(_ context.Context, in *getClusterInput) (*clusterOutput, error) {
	c, ok := a.records.Cluster(in.Cluster)
	if !ok {
		return nil, a.missing("cluster")
	}
	return &clusterOutput{Body: view.FromCluster(c, time.Now())}, nil
}

// ofClusters gathers what show finds in every cluster that a filter lets through.
func ofClusters[V any](a *server, cluster string, show func(c *projection.ClusterState, now time.Time) []V) []V {
	var all []V
	now := time.Now()
	for _, c := range a.records.Clusters() {
		if is(cluster, c.Name) {
			all = append(all, show(c, now)...)
		}
	}
	return all
}
