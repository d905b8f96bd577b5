package api

import (
	_ "embed"
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/ui"
)

// docsHTML is the OpenAPI document for people, rendered by TestDocsPageIsCommitted. It needs no script, and nothing from elsewhere.
//
//go:embed docs.html
var docsHTML []byte

func docsPage() *ui.File { return ui.NewFile("docs.html", docsHTML) }

// operations returns what a document describes, by path.
func operations(spec *huma.OpenAPI) (all []*huma.Operation) {
	for _, path := range slices.Sorted(maps.Keys(spec.Paths)) {
		for _, o := range []*huma.Operation{spec.Paths[path].Get, spec.Paths[path].Post} {
			if o != nil {
				all = append(all, o)
			}
		}
	}
	return all
}
