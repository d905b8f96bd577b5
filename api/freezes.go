package api

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
)

// FreezeFilter is what a listing of freezes can be narrowed to. An empty field does not narrow it.
type FreezeFilter struct {
	Cluster string `query:"cluster" maxLength:"63" doc:"Only the freeze of this cluster."`
}

type listFreezesInput struct {
	Paging
	FreezeFilter
}

func (a *server) listFreezes(ctx context.Context, in *listFreezesInput) (*listed[view.Freeze], error) {
	freezes := ofClusters(a, in.Cluster, func(c *projection.ClusterState, now time.Time) []view.Freeze {
		if f := view.FromFreeze(c, now); f.Frozen {
			return []view.Freeze{f}
		}
		return nil
	})
	return byKey(ctx, a, asked("freezes", in.Paging, in.FreezeFilter), freezes, func(f view.Freeze) string { return f.Cluster })
}
