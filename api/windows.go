package api

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
)

// WindowFilter is what a listing of maintenance windows can be narrowed to. An empty field does not narrow it.
type WindowFilter struct {
	Cluster string `query:"cluster" maxLength:"63" doc:"Only windows of this cluster."`
}

type listWindowsInput struct {
	Paging
	WindowFilter
}

func (a *server) listWindows(ctx context.Context, in *listWindowsInput) (*listed[view.Window], error) {
	windows := ofClusters(a, in.Cluster, func(c *projection.ClusterState, _ time.Time) []view.Window { return view.FromWindows(c) })
	return byKey(ctx, a, asked("windows", in.Paging, in.WindowFilter), windows, func(w view.Window) string {
		return w.Cluster + "\x00" + w.Schedule
	})
}
