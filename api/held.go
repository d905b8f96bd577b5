package api

import (
	"context"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// HeldFilter is what a listing of held workloads can be narrowed to. An empty field does not narrow it.
type HeldFilter struct {
	WorkloadFilter
	Reason view.Reason `query:"reason" doc:"Only workloads that wait for this reason."`
	Dead   bool        `query:"dead" doc:"Only workloads that somebody has to look at: dead letters."`
}

func (f *HeldFilter) match(w *reloader.WorkloadRecord) bool {
	return w.Hold != nil &&
		is(string(f.Reason), w.Hold.Reason) &&
		(!f.Dead || w.Hold.DeadLetter()) &&
		f.WorkloadFilter.match(w)
}

type listHeldInput struct {
	Paging
	HeldFilter
}

func (a *server) listHeld(ctx context.Context, in *listHeldInput) (*listed[view.HeldWorkload], error) {
	return byWorkload(ctx, a, asked("held", in.Paging, in.HeldFilter), view.FromHeld,
		func(after projection.WorkloadKey, limit int) projection.WorkloadPage {
			return a.records.Workloads(after, limit, in.match)
		})
}
