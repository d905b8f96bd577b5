package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// The committed page is rendered from the routes, in a test: a template in the product would keep all methods of all types in the binary.
func TestDocsPageIsCommitted(t *testing.T) {
	const file = "docs.html"
	got, err := renderDocs(mount(chi.NewRouter(), &server{}))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is old; run go generate ./api (-committed +rendered):\n%s", file, diff)
	}
}

// renderDocs renders the OpenAPI document for people.
func renderDocs(spec *huma.OpenAPI) ([]byte, error) {
	page, err := template.New("docs.html").Funcs(template.FuncMap{
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
		"shown":    shown,
		"required": func(s *huma.Schema, name string) bool { return slices.Contains(s.Required, name) },
		"codes":    func(o *huma.Operation) []string { return slices.Sorted(maps.Keys(o.Responses)) },
	}).ParseFiles("testdata/docs.html")
	if err != nil {
		return nil, fmt.Errorf("read the page of documentation: %w", err)
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{"Operations": operations(spec), "Schemas": spec.Components.Schemas.Map(), "Reasons": reloader.Reasons})
	if err != nil {
		return nil, fmt.Errorf("render the page of documentation: %w", err)
	}
	return out.Bytes(), nil
}

// shown returns the properties of a schema that are not hidden: the document has those alone.
func shown(s *huma.Schema) (map[string]*huma.Schema, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var document struct{ Properties map[string]any }
	err = json.Unmarshal(text, &document)
	found := maps.Clone(s.Properties)
	maps.DeleteFunc(found, func(name string, _ *huma.Schema) bool { return document.Properties[name] == nil })
	return found, err
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
