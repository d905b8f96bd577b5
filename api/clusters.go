package api

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
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
	now, sight := time.Now(), a.reach(ctx)
	same := func(c *view.Cluster) view.Cluster { return *c }
	return listing(ctx, a, "clusters", in.Paging, in.ClusterFilter, same, func(from string, limit int) (page projection.Page[view.Cluster], err error) {
		for _, c := range a.records.Clusters() {
			if c.Name <= from || !is(in.Name, c.Name) || !sight.sees(c.Name, "") {
				continue
			}
			v := view.FromCluster(c, now)
			if !is(in.Health, v.Health) {
				continue
			}
			if len(page.Items) == limit {
				page.Next = page.Items[limit-1].Cluster
				break
			}
			page.Items = append(page.Items, &v)
		}
		return page, nil
	}, in.Name)
}
