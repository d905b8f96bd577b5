package api

import (
	"cmp"
	"context"
	"slices"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// DependencyFilter is what a listing of dependencies can be narrowed to. An empty field does not narrow it.
type DependencyFilter struct {
	WorkloadFilter
	Key     string `query:"key" maxLength:"253" doc:"Only dependencies whose pod template uses this key of the config, or all keys."`
	Pending bool   `query:"pending" doc:"Only dependencies whose workload waits to be rolled for the config."`
}

// matchEdge judges what the filter says about dependencies; match judges the rest.
func (f *DependencyFilter) matchEdge(w *reloader.WorkloadRecord, e reloader.Edge) bool {
	return f.matchConfig(w, e.Config) &&
		(f.Key == "" || slices.ContainsFunc(e.Uses, f.matchUse)) &&
		(!f.Pending || e.Pending != "")
}

func (f *DependencyFilter) matchUse(u reloader.Use) bool {
	return len(u.Keys) == 0 || slices.Contains(u.Keys, f.Key)
}

type listDependenciesInput struct {
	Paging
	DependencyFilter
}

// pair is where a listing of dependencies goes on: after a config of a workload.
type pair struct {
	workload projection.WorkloadKey
	config   reloader.Config
}

func (a *server) listDependencies(ctx context.Context, in *listDependenciesInput) (*listed[view.DependencyRow], error) {
	q := asked("dependencies", in.Paging, in.DependencyFilter)
	position, err := q.position()
	if err != nil {
		return nil, cursorProblem(err)
	}
	after, err := decodePair(position)
	if err != nil {
		return nil, cursorProblem(err)
	}
	done, err := a.scans.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	rows, more := a.dependencies(in, after)
	next := ""
	if more {
		last := rows[len(rows)-1]
		next = encodeCursor(q.binding, encodePair(last.at))
	}
	return answer(ctx, a, q, rows, func(r *dependency) view.DependencyRow { return view.FromDependency(r.workload, r.edge) }, next), nil
}

type dependency struct {
	workload *reloader.WorkloadRecord
	edge     reloader.Edge
	at       pair
}

// dependencies returns a page of those after a pair, and whether there are more.
func (a *server) dependencies(in *listDependenciesInput, after pair) (rows []*dependency, more bool) {
	a.records.EachWorkload(after.workload, func(w *reloader.WorkloadRecord) bool {
		if !in.match(w) {
			return true
		}
		key := projection.WorkloadKey{Cluster: w.Cluster, Workload: w.Workload}
		for _, e := range sortedEdges(w.Edges) {
			at := pair{key, e.Config}
			if !in.matchEdge(w, e) || at.compare(after) <= 0 {
				continue
			}
			if len(rows) == in.Limit {
				more = true
				return false
			}
			rows = append(rows, &dependency{w, e, at})
		}
		return true
	})
	return rows, more
}

func (p pair) compare(other pair) int {
	return cmp.Or(p.workload.Compare(other.workload), cmp.Compare(p.config.String(), other.config.String()))
}

func sortedEdges(edges []reloader.Edge) []reloader.Edge {
	return slices.SortedFunc(slices.Values(edges), func(a, b reloader.Edge) int {
		return cmp.Compare(a.Config.String(), b.Config.String())
	})
}
