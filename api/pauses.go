package api

import (
	"context"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/api/view"
)

// PauseFilter is what a listing of pauses can be narrowed to. An empty field does not narrow it.
type PauseFilter struct {
	Cluster   string `query:"cluster" maxLength:"63" doc:"Only pauses in this cluster."`
	Namespace string `query:"namespace" maxLength:"63" doc:"Only pauses that reach this namespace: those of all namespaces too."`
}

type listPausesInput struct {
	Paging
	PauseFilter
}

func (a *server) listPauses(ctx context.Context, in *listPausesInput) (*listed[view.Pause], error) {
	var pauses []view.Pause
	for _, p := range ofClusters(a, in.Cluster, view.FromPauses) {
		if p.Namespace == "" || is(in.Namespace, p.Namespace) {
			pauses = append(pauses, p)
		}
	}
	return byKey(ctx, a, asked("pauses", in.Paging, in.PauseFilter), pauses, func(p view.Pause) string {
		return strings.Join([]string{p.Cluster, p.Namespace, p.Selector, p.Until.UTC().Format(time.RFC3339)}, "\x00")
	})
}
