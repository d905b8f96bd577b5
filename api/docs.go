package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/ui"
	"github.com/reroll-dev/reroll/reloader"
)

//go:embed docs.html
var docsTemplate string

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

// docsPage renders a document for people. The page needs no script, and nothing from elsewhere.
func docsPage(spec *huma.OpenAPI) (*ui.File, error) {
	page, err := template.New("docs").Funcs(template.FuncMap{
		"type": typeOf,
		"ref":  func(s *huma.Schema) string { return strings.TrimPrefix(refOf(s), "#/components/schemas/") },
		"schema": func(o *huma.Operation) *huma.Schema {
			for _, media := range o.Responses["200"].Content {
				return media.Schema
			}
			return nil
		},
		"json": func(v any) (string, error) {
			text, err := json.MarshalIndent(v, "", "  ")
			return string(text), err
		},
		"required": func(s *huma.Schema, name string) bool { return slices.Contains(s.Required, name) },
		"codes":    func(o *huma.Operation) []string { return slices.Sorted(maps.Keys(o.Responses)) },
	}).Parse(docsTemplate)
	if err != nil {
		return nil, fmt.Errorf("read the page of documentation: %w", err)
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{"Operations": operations(spec), "Schemas": spec.Components.Schemas.Map(), "Reasons": reloader.Reasons})
	if err != nil {
		return nil, fmt.Errorf("render the page of documentation: %w", err)
	}
	return ui.NewFile("docs.html", out.Bytes()), nil
}

// refOf returns what a schema or the items of its list refer to; empty if nothing.
func refOf(s *huma.Schema) string {
	if s != nil && s.Items != nil {
		return refOf(s.Items)
	}
	if s == nil {
		return ""
	}
	return s.Ref
}

// typeOf says in a word or few what a schema is.
func typeOf(s *huma.Schema) string {
	switch {
	case s == nil:
		return ""
	case s.Type == huma.TypeArray:
		return "list of " + typeOf(s.Items)
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, "#/components/schemas/")
	case len(s.Enum) > 0:
		var values []string
		for _, v := range s.Enum {
			values = append(values, fmt.Sprint(v))
		}
		return strings.Join(values, ", ")
	case s.Format == "date-time":
		return "time"
	case s.AdditionalProperties != nil && len(s.Properties) == 0:
		return "map"
	}
	return s.Type
}
