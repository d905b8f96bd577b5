package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
)

// Paging is the parameters that every listing takes.
type Paging struct {
	Limit    int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"How many items a page may have."`
	Continue string `query:"continue" maxLength:"1024" doc:"The field continue of the page before, with the same filters. A cursor expires (410) when what it points at is no longer kept."`
}

// listed is the answer of a listing.
type listed[V any] struct {
	Body view.List[V]
}

// listing answers with one page: read returns records from a position on, and show is how they are shown. Of the clusters that the filter names, empty
// names are none.
func listing[R, V any](
	ctx context.Context, a *server, name string, paging Paging, filter any, show func(*R) V, read func(from string, limit int) (projection.Page[R], error),
	clusters ...string,
) (*listed[V], error) {
	bound := binding(name, filter)
	from, err := openCursor(paging.Continue, bound)
	if err != nil {
		return nil, cursorProblem(err)
	}
	done, err := a.scan(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	page, err := read(from, paging.Limit)
	if err != nil {
		return nil, cursorProblem(err)
	}
	list := view.List[V]{Items: make([]V, 0, len(page.Items)), Warnings: a.warnings(ctx, clusters...)}
	for _, item := range page.Items {
		list.Items = append(list.Items, show(item))
	}
	if page.Next != "" {
		list.Continue = cursor(page.Next, bound)
	}
	return &listed[V]{Body: list}, nil
}

var errForeignCursor = errors.New("the cursor belongs to another listing or to other filters")

// binding fingerprints a listing and its filters: a cursor is good for these alone.
func binding(listing string, filter any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %#v", listing, filter)) // %#v quotes strings, so no two filters look alike
	return string(sum[:8])
}

// cursor is in base64 what it is bound to, and a position.
func cursor(position, bound string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(bound + position))
}

// openCursor returns the position in a cursor. An empty cursor has none: the listing starts at its beginning.
func openCursor(text, bound string) (position string, err error) {
	if text == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || base64.RawURLEncoding.EncodeToString(raw) != text || len(raw) <= len(bound) { // the decoder skips line breaks and stray bits
		return "", projection.ErrMalformed
	}
	position, ok := strings.CutPrefix(string(raw), bound)
	if !ok {
		return "", errForeignCursor
	}
	return position, nil
}

// cursorProblem says what is wrong with a cursor: 410 if it was good once, 400 if it never was for this request.
func cursorProblem(err error) error {
	if errors.Is(err, projection.ErrExpired) {
		return huma.Error410Gone("The cursor has expired: the records it points at are no longer kept. Start again without it.")
	}
	return huma.Error400BadRequest("The parameter continue cannot be used: " + err.Error() + ".")
}
