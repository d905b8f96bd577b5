package api

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/api/view"
)

// ClusterFilter is what a listing of clusters can be narrowed to. An empty field does not narrow it.
type ClusterFilter struct {
	Name   string `query:"name" maxLength:"63" doc:"Only the cluster of this name."`
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
		if v := view.FromCluster(c, now); is(in.Name, c.Name) && is(in.Health, v.Health) {
			clusters = append(clusters, v)
		}
	}
	return byKey(ctx, a, asked("clusters", in.Paging, in.ClusterFilter), clusters, func(c view.Cluster) string { return c.Cluster })
}
