package api

import (
	"cmp"
	"errors"
	"slices"
	"time"

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

// answer makes the page that is sent: views of items, the cursor if there is a further page, and what may be missing.
func answer[R, V any](a *server, items []*R, show func(*R) V, next string) *listed[V] {
	list := view.List[V]{Items: make([]V, 0, len(items)), Warnings: a.warnings()}
	for _, item := range items {
		list.Items = append(list.Items, show(item))
	}
	list.Metadata.Continue = next
	return &listed[V]{Body: list}
}

// warnings says what any answer may be missing.
func (a *server) warnings() []string {
	found := []string{}
	caughtUp := a.records.CaughtUp()
	if !caughtUp {
		found = append(found, "The stored records are still being read; some may be missing.")
	}
	now := time.Now()
	for _, c := range a.records.Clusters() {
		if v := view.FromCluster(c, now); v.Health == view.Away || v.Health == view.Unknown && caughtUp {
			found = append(found, "Cluster "+c.Name+": "+v.Problems[0]+" What is on record may be out of date.")
		}
	}
	return found
}

// bySequence answers a listing that is ordered by stream sequence.
func bySequence[R, V any](
	a *server, paging Paging, b binding, show func(*R) V,
	read func(before uint64, limit int) (projection.Page[R], error),
) (*listed[V], error) {
	position, err := decodeCursor(paging.Continue, b)
	if err != nil {
		return nil, cursorProblem(err)
	}
	before, err := decodeSequence(position)
	if err != nil {
		return nil, cursorProblem(err)
	}
	page, err := read(before, paging.Limit)
	if err != nil {
		return nil, cursorProblem(err)
	}
	next := ""
	if page.Next != 0 {
		next = encodeCursor(b, encodeSequence(page.Next))
	}
	return answer(a, page.Items, show, next), nil
}

// byWorkload answers a listing that is ordered by workload.
func byWorkload[V any](
	a *server, paging Paging, b binding, show func(*reloader.WorkloadRecord) V,
	read func(after projection.WorkloadKey, limit int) projection.WorkloadPage,
) (*listed[V], error) {
	position, err := decodeCursor(paging.Continue, b)
	if err != nil {
		return nil, cursorProblem(err)
	}
	after, err := decodeKey(position)
	if err != nil {
		return nil, cursorProblem(err)
	}
	page := read(after, paging.Limit)
	next := ""
	if page.Next != (projection.WorkloadKey{}) {
		next = encodeCursor(b, encodeKey(page.Next))
	}
	return answer(a, page.Items, show, next), nil
}

// byKey answers a listing that is short enough to be made anew for every page, ordered by key. Of items with the same key one is shown.
func byKey[V any](a *server, paging Paging, b binding, items []V, key func(V) string) (*listed[V], error) {
	position, err := decodeCursor(paging.Continue, b)
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
		if len(page) == paging.Limit {
			next = encodeCursor(b, []byte(key(*page[len(page)-1])))
			break
		}
		page = append(page, &items[i])
	}
	return answer(a, page, func(v *V) V { return *v }, next), nil
}

// cursorProblem says what is wrong with a cursor: 410 if it was good once, 400 if it never was for this request.
func cursorProblem(err error) error {
	if errors.Is(err, projection.ErrExpired) {
		return huma.Error410Gone("The cursor has expired: the records it points at are no longer kept. Start again without it.")
	}
	return huma.Error400BadRequest("The parameter continue cannot be used: " + err.Error() + ".")
}
