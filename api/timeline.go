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
	WorkloadKind string       `query:"workloadKind" maxLength:"63" doc:"Only changes that reached a workload of this kind." example:"Deployment"`
	WorkloadName string       `query:"workloadName" maxLength:"253" doc:"Only changes that reached a workload of this name."`
	Outcome      view.Outcome `query:"outcome" doc:"Only changes of which a reload has this outcome."`
	User         string       `query:"user" maxLength:"512" doc:"Only changes that this user may have made."`
}

func (f *TimelineFilter) match(c *reloader.Change, reloads func(*reloader.Change) []*reloader.Reload) bool {
	return f.ChangeFilter.match(c) && f.matchUser(c.Candidates) && f.matchReloads(c, reloads)
}

func (f *TimelineFilter) matchUser(candidates []reloader.Candidate) bool {
	return f.User == "" || slices.ContainsFunc(candidates, func(c reloader.Candidate) bool {
		return f.User == c.Actor.User || f.User == c.Actor.AuthenticatedUser
	})
}

func (f *TimelineFilter) matchReloads(change *reloader.Change, reloads func(*reloader.Change) []*reloader.Reload) bool {
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

func (a *server) listTimeline(ctx context.Context, in *listTimelineInput) (*listed[view.TimelineRow], error) {
	s := a.sightFrom(ctx, in.Namespace, listReloads)
	list, err := bySequence(ctx, a, asked("timeline", in.Paging, in.TimelineFilter),
		func(c *reloader.Change) view.TimelineRow { return a.timelineRow(s, c) },
		func(from projection.Place, limit int) (projection.Page[reloader.Change], error) {
			return a.records.Changes(from, limit, func(c *reloader.Change) bool {
				return in.match(c, func(change *reloader.Change) []*reloader.Reload { return a.reloadsIn(s, change) })
			})
		})
	switch {
	case err != nil:
		return nil, err
	case s.fault != nil:
		return nil, s.fault
	}
	list.Body.Warnings = append(list.Body.Warnings, s.warnings()...)
	return list, nil
}

// reloadsIn returns the reloads of a change that may be shown.
func (a *server) reloadsIn(s *sight, change *reloader.Change) []*reloader.Reload {
	return slices.DeleteFunc(a.records.ReloadsOf(change), func(r *reloader.Reload) bool { return !s.of(r.Workload.Namespace) })
}

// timelineRow gathers what came of a change.
func (a *server) timelineRow(s *sight, c *reloader.Change) view.TimelineRow {
	row := view.TimelineRow{Change: view.FromChange(c), Reloads: []view.ReloadSummary{}, Pending: []view.PendingReload{}}
	for _, r := range a.reloadsIn(s, c) {
		row.Reloads = append(row.Reloads, view.Summarize(r))
	}
	config := projection.KeyOf(c.Cluster, c.Config)
	state, ok := a.records.Config(config)
	if !ok || state.Latest == nil || state.Latest.ID != c.ID || state.Latest.Cluster != c.Cluster {
		return row // workloads wait for the newest change alone
	}
	for _, key := range state.Dependents {
		w, ok := a.records.Workload(key)
		if ok && waitsFor(w, config) && s.of(w.Workload.Namespace) {
			row.Pending = append(row.Pending, view.FromPending(w))
		}
	}
	return row
}

func waitsFor(w *reloader.WorkloadRecord, config projection.ConfigKey) bool {
	return slices.ContainsFunc(w.Edges, func(e reloader.Edge) bool {
		return e.Pending != "" && projection.KeyOf(w.Cluster, e.Config) == config
	})
}
