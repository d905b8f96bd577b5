package api

import (
	"context"
	"slices"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// TimelineFilter is what the timeline can be narrowed to. An empty field does not narrow it. One reload must meet all that is said
// about reloads.
type TimelineFilter struct {
	ChangeFilter
	WorkloadKind string      `query:"workloadKind" maxLength:"63" doc:"Only changes that reached a workload of this kind." example:"Deployment"`
	WorkloadName string      `query:"workloadName" maxLength:"253" doc:"Only changes that reached a workload of this name."`
	Outcome      view.Reason `query:"outcome" doc:"Only changes of which a reload has this outcome."`
	User         string      `query:"user" maxLength:"512" doc:"Only changes that this user may have made."`
}

func (f *TimelineFilter) match(c *reloader.Change, reloads func(change string) []*reloader.Reload) bool {
	return f.ChangeFilter.match(c) && f.matchUser(c.Candidates) && f.matchReloads(c.ID, reloads)
}

func (f *TimelineFilter) matchUser(candidates []reloader.Candidate) bool {
	return f.User == "" || slices.ContainsFunc(candidates, func(c reloader.Candidate) bool {
		return f.User == c.Actor.User || f.User == c.Actor.AuthenticatedUser
	})
}

func (f *TimelineFilter) matchReloads(change string, reloads func(string) []*reloader.Reload) bool {
	if f.WorkloadKind == "" && f.WorkloadName == "" && f.Outcome == "" {
		return true
	}
	return slices.ContainsFunc(reloads(change), func(r *reloader.Reload) bool {
		return is(f.WorkloadKind, r.Workload.Kind) && is(f.WorkloadName, r.Workload.Name) && is(string(f.Outcome), r.Outcome)
	})
}

type listTimelineInput struct {
	Paging
	TimelineFilter
}

func (a *server) listTimeline(_ context.Context, in *listTimelineInput) (*listed[view.TimelineRow], error) {
	return bySequence(a, in.Paging, bind("timeline", in.TimelineFilter), a.timelineRow,
		func(before uint64, limit int) (projection.Page[reloader.Change], error) {
			return a.records.Changes(before, limit, func(c *reloader.Change) bool { return in.match(c, a.records.ReloadsOf) })
		})
}

// timelineRow gathers what came of a change.
func (a *server) timelineRow(c *reloader.Change) view.TimelineRow {
	row := view.TimelineRow{Change: view.FromChange(c), Reloads: []view.ReloadSummary{}, Pending: []view.PendingReload{}}
	for _, r := range a.records.ReloadsOf(c.ID) {
		row.Reloads = append(row.Reloads, view.Summarize(r))
	}
	state, ok := a.records.Config(projection.ConfigKey{Cluster: c.Cluster, Config: c.Config})
	if !ok || state.Latest == nil || state.Latest.ID != c.ID {
		return row // workloads wait for the newest change alone
	}
	for _, key := range state.Dependents {
		w, ok := a.records.Workload(key)
		if ok && slices.ContainsFunc(w.Edges, func(e reloader.Edge) bool { return e.Config == c.Config && e.Pending != "" }) {
			row.Pending = append(row.Pending, view.FromPending(w))
		}
	}
	return row
}
