package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// ChangeFilter is what a listing of changes can be narrowed to. An empty field does not narrow it.
type ChangeFilter struct {
	Cluster          string              `query:"cluster" maxLength:"63" example:"local" doc:"Only changes in this cluster."`
	Namespace        string              `query:"namespace" maxLength:"63" example:"shop" doc:"Only changes of configs in this namespace."`
	ConfigKind       reloader.ConfigKind `query:"configKind" doc:"Only changes of configs of this kind."`
	Name             string              `query:"name" maxLength:"253" doc:"Only changes of configs of this name."`
	Type             string              `query:"type" enum:"Baseline,Updated,Created,Deleted" doc:"Only changes of this type."`
	IncludeBaselines bool                `query:"includeBaselines" doc:"Also show baselines, the first sight of each config. They are hidden otherwise, unless type asks for them."`
	WorkloadKind     string              `query:"workloadKind" maxLength:"63" doc:"Only changes that reached a workload of this kind." example:"Deployment"`
	WorkloadName     string              `query:"workloadName" maxLength:"253" doc:"Only changes that reached a workload of this name."`
	Outcome          view.Outcome        `query:"outcome" doc:"Only changes with a reload that has this outcome."`
	User             string              `query:"user" maxLength:"512" doc:"Only changes that this user may have made."`
	Since            time.Time           `query:"since" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$" patternDescription:"RFC 3339" doc:"Only changes verified at this time or later (RFC 3339)."`
}

func (f *ChangeFilter) match(c *reloader.Change) bool {
	return is(f.Cluster, c.Cluster) &&
		is(f.Namespace, c.Config.Namespace) &&
		is(f.ConfigKind, c.Config.Kind) &&
		is(f.Name, c.Config.Name) &&
		is(f.Type, c.Type) &&
		(c.Type != reloader.ChangeBaseline || f.IncludeBaselines || f.Type != "") &&
		!c.VerifiedAt.Before(f.Since) &&
		f.matchUser(c.Candidates)
}

// is reports whether a filter lets value through. An empty filter lets everything through.
func is[F, S ~string](filter F, value S) bool { return filter == "" || string(filter) == string(value) }

// outcome judges what became of a change. One reload must meet all that is said about reloads.
func (f *ChangeFilter) outcome(c *reloader.Change, reloads func(*reloader.Change) []*reloader.Reload) bool {
	if f.WorkloadKind == "" && f.WorkloadName == "" && f.Outcome == "" {
		return true
	}
	return slices.ContainsFunc(reloads(c), func(r *reloader.Reload) bool {
		return is(f.WorkloadKind, r.Workload.Kind) && is(f.WorkloadName, r.Workload.Name) && is(f.Outcome, r.Outcome)
	})
}

func (f *ChangeFilter) matchUser(candidates []reloader.Candidate) bool {
	return f.User == "" || slices.ContainsFunc(candidates, func(c reloader.Candidate) bool {
		return f.User == c.Actor.User || f.User == c.Actor.AuthenticatedUser
	})
}

type listChangesInput struct {
	Paging
	ChangeFilter
}

func (a *server) listChanges(ctx context.Context, in *listChangesInput) (*listed[view.ChangeRow], error) {
	s := a.sightFrom(ctx, in.Namespace, listReloads)
	list, err := listing(ctx, a, "changes", in.Paging, in.ChangeFilter,
		func(c *reloader.Change) view.ChangeRow { return a.changeRow(s, c) },
		func(from string, limit int) (projection.Page[reloader.Change], error) {
			return a.records.Changes(from, limit, func(c *reloader.Change) bool {
				return in.match(c) && s.reach.sees(c.Cluster, c.Config.Namespace) && in.outcome(c, func(change *reloader.Change) []*reloader.Reload { return a.reloadsIn(s, change) })
			})
		}, in.Cluster)
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
	return slices.DeleteFunc(a.records.ReloadsOf(change), func(r *reloader.Reload) bool { return !s.of(r.Cluster, r.Workload.Namespace) })
}

// changeRow gathers what came of a change.
func (a *server) changeRow(s *sight, c *reloader.Change) view.ChangeRow {
	row := view.ChangeRow{Change: *c, Reloads: []reloader.Reload{}, Pending: []view.PendingReload{}}
	for _, r := range a.reloadsIn(s, c) {
		short := *r
		short.Causes = nil
		row.Reloads = append(row.Reloads, short)
	}
	config := projection.KeyOf(c.Cluster, c.Config)
	state, ok := a.records.Config(config)
	if !ok || state.Latest == nil || state.Latest.ID != c.ID || state.Latest.Cluster != c.Cluster {
		return row // workloads wait for the newest change alone
	}
	for _, key := range state.Dependents {
		w, ok := a.records.Workload(key)
		if ok && waitsFor(w, config) && s.of(w.Cluster, w.Workload.Namespace) {
			row.Pending = append(row.Pending, view.PendingReload{Cluster: w.Cluster, Workload: w.Workload, Hold: w.Hold})
		}
	}
	return row
}

func waitsFor(w *reloader.WorkloadRecord, config projection.ConfigKey) bool {
	return slices.ContainsFunc(w.Edges, func(e reloader.Edge) bool {
		return e.Pending != "" && projection.KeyOf(w.Cluster, e.Config) == config
	})
}

type getChangeInput struct {
	ID      string `path:"id" maxLength:"64" doc:"The change's ID."`
	Cluster string `query:"cluster" maxLength:"63" example:"local" doc:"The change's cluster: required if several clusters have a change of this ID."`
}

type changeOutput struct {
	Body view.ChangeRow
}

func (a *server) getChange(ctx context.Context, in *getChangeInput) (*changeOutput, error) {
	c, err := oneNamed(ctx, a, resourceChanges, in.Cluster, a.records.ChangesNamed(in.ID), func(c *reloader.Change) (string, string) {
		return c.Cluster, c.Config.Namespace
	})
	if err != nil {
		return nil, err
	}
	s := a.sightFrom(ctx, "", listReloads)
	delete(s.seen, "") // to get a change is not to list reloads
	return &changeOutput{Body: a.changeRow(s, c)}, s.fault
}

// oneNamed returns the record of a resource with the requested ID: that of a cluster or, if none is named, the only one. Of says where a record is. Who may
// not look everywhere gets the same answer for a record that is not there as for one that is none of their business.
func oneNamed[T any](ctx context.Context, a *server, resource, cluster string, named []*T, of func(*T) (cluster, namespace string)) (*T, error) {
	reach, deed, what := a.reach(ctx), Deed{Verb: "get", Resource: resource}, strings.TrimSuffix(resource, "s")
	named = slices.DeleteFunc(named, func(r *T) bool {
		in, namespace := of(r)
		return !reach.sees(in, namespace) || !is(cluster, in)
	})
	if len(named) == 1 {
		_, deed.Namespace = of(named[0])
	}
	err := a.permit(ctx, deed)
	var problem huma.StatusError
	switch {
	case errors.As(err, &problem) && problem.GetStatus() == http.StatusForbidden:
		return nil, huma.Error403Forbidden("There is no such record, or you may not get " + resource + " of the group reroll.dev in its namespace.")
	case err != nil:
		return nil, err
	case len(named) == 1:
		return named[0], nil
	case len(named) > 1:
		return nil, huma.Error409Conflict("Several clusters have a " + what + " of this ID: name one with the parameter cluster.")
	case !a.records.CaughtUp():
		return nil, stillReading()
	}
	return nil, huma.Error404NotFound("There is no such " + what + ", or it is no longer kept.")
}
