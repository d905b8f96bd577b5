package api

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// Paging is the parameters that every listing takes.
type Paging struct {
	Limit    int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"How many items a page may have."`
	Continue string `query:"continue" maxLength:"1024" doc:"The cursor metadata.continue of the page before, with the same filters. A cursor expires (410) when what it points at is no longer kept."`
}

// listed is the answer of a listing.
type listed[V any] struct {
	Body view.List[V]
}

// question is one page of a listing, as it is asked for.
type question struct {
	Paging
	binding
	// clusters are those that the filter names; empty names are none.
	clusters []string
}

// asked returns the question for a page of a listing whose filter may name clusters.
func asked(listing string, paging Paging, filter any) question {
	q := question{Paging: paging, binding: bind(listing, filter)}
	if f, ok := filter.(interface{ clusters() []string }); ok {
		q.clusters = f.clusters()
	}
	return q
}

func (f ChangeFilter) clusters() []string   { return []string{f.Cluster} }
func (f ReloadFilter) clusters() []string   { return []string{f.Cluster} }
func (f WorkloadFilter) clusters() []string { return []string{f.Cluster, f.ConfigCluster} }
func (f ClusterFilter) clusters() []string  { return []string{f.Name} }

// position returns where the question goes on; nil is the beginning.
func (q question) position() ([]byte, error) { return decodeCursor(q.Continue, q.binding) }

// answer makes the page that is sent: views of items, the cursor if there is a further page, and what may be missing.
func answer[R, V any](ctx context.Context, a *server, q question, items []*R, show func(*R) V, next string) *listed[V] {
	list := view.List[V]{Items: make([]V, 0, len(items))}
	for _, item := range items {
		list.Items = append(list.Items, show(item))
	}
	list.Metadata.Continue, list.Warnings = next, a.warnings(ctx, q.clusters...)
	return &listed[V]{Body: list}
}

// bySequence answers a listing that is ordered by stream sequence.
func bySequence[R, V any](
	ctx context.Context, a *server, q question, show func(*R) V, read func(from projection.Place, limit int) (projection.Page[R], error),
) (*listed[V], error) {
	position, err := q.position()
	if err != nil {
		return nil, cursorProblem(err)
	}
	from, err := decodePlace(position)
	if err != nil {
		return nil, cursorProblem(err)
	}
	done, err := a.scans.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	page, err := read(from, q.Limit)
	if err != nil {
		return nil, cursorProblem(err)
	}
	next := ""
	if page.Next != (projection.Place{}) {
		next = encodeCursor(q.binding, encodePlace(page.Next))
	}
	return answer(ctx, a, q, page.Items, show, next), nil
}

// byWorkload answers a listing that is ordered by workload.
func byWorkload[V any](
	ctx context.Context, a *server, q question, show func(*reloader.WorkloadRecord) V,
	read func(after projection.WorkloadKey, limit int) projection.WorkloadPage,
) (*listed[V], error) {
	position, err := q.position()
	if err != nil {
		return nil, cursorProblem(err)
	}
	after, err := decodeKey(position)
	if err != nil {
		return nil, cursorProblem(err)
	}
	done, err := a.scans.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	page := read(after, q.Limit)
	next := ""
	if page.Next != (projection.WorkloadKey{}) {
		next = encodeCursor(q.binding, encodeKey(page.Next))
	}
	return answer(ctx, a, q, page.Items, show, next), nil
}

// byKey answers a listing that is short enough to be made anew for every page, ordered by key. Of items with the same key one is shown.
func byKey[V any](ctx context.Context, a *server, q question, items []V, key func(V) string) (*listed[V], error) {
	position, err := q.position()
	if err != nil {
		return nil, cursorProblem(err)
	}
	slices.SortStableFunc(items, func(x, y V) int { return cmp.Compare(key(x), key(y)) })
	items = slices.CompactFunc(items, func(x, y V) bool { return key(x) == key(y) })
	var page []*V
	next := ""
	for i := range items {
		if position != nil && key(items[i]) <= string(position) {
			continue
		}
		if len(page) == q.Limit {
			next = encodeCursor(q.binding, []byte(key(*page[len(page)-1])))
			break
		}
		page = append(page, &items[i])
	}
	return answer(ctx, a, q, page, func(v *V) V { return *v }, next), nil
}

// cursorProblem says what is wrong with a cursor: 410 if it was good once, 400 if it never was for this request.
func cursorProblem(err error) error {
	if errors.Is(err, projection.ErrExpired) {
		return huma.Error410Gone("The cursor has expired: the records it points at are no longer kept. Start again without it.")
	}
	return huma.Error400BadRequest("The parameter continue cannot be used: " + err.Error() + ".")
}
