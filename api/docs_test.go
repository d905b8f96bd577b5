package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// word is one of a command line, in quotes or not.
var word = regexp.MustCompile(`'[^']*'|"[^"]*"|[^ ]+`)

// readExample makes a request of a call of curl, of which it understands the few words that the documentation uses.
func readExample(t *testing.T, line, server string) *http.Request {
	t.Helper()
	method, url, body, header := http.MethodGet, "", "", http.Header{"Authorization": {"alice"}}
	var words []string
	for _, w := range word.FindAllString(line, -1)[1:] {
		words = append(words, strings.Trim(w, `'"`))
	}
	for i := 0; i < len(words); i++ {
		value := words[min(i+1, len(words)-1)]
		switch w := words[i]; {
		case w == "-N":
			continue
		case w == "-X":
			method = value
		case w == "-H":
			name, value, _ := strings.Cut(value, ": ")
			header.Set(name, value)
		case w == "-d":
			method, body = http.MethodPost, value
		case strings.HasPrefix(w, "$REROLL/") && url == "":
			url = server + strings.TrimPrefix(w, "$REROLL")
			continue
		default:
			t.Fatalf("%s: what is %q?", line, w)
		}
		i++
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	r.Header = header
	return r
}

// Every example in the documentation works, and every operation has one.
func TestDocumentedExamples(t *testing.T) {
	text, err := os.ReadFile("../docs/api.md")
	must(t, err)
	f := populated(t)
	f.guard(t, door{allowed: everything})
	server := serve(t, f)
	var shown []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "curl ") {
			continue
		}
		r := readExample(t, strings.TrimSpace(line), server.URL)
		shown = append(shown, r.Method+" "+r.URL.Path)
		answer, err := server.Client().Do(r)
		must(t, err)
		beginning := make([]byte, 64)
		n, err := io.ReadAtLeast(answer.Body, beginning, 16)
		_ = answer.Body.Close()
		says := strings.TrimSpace(string(beginning[:n]))
		if err != nil || answer.StatusCode != http.StatusOK || !strings.HasPrefix(says, "{") && !strings.HasPrefix(says, "event: ") {
			t.Errorf("%s: %s, %v: %s", line, answer.Status, err, says)
		}
	}
	for _, o := range operationsOf(t, f) {
		path := regexp.MustCompile("^" + o.method + " " + regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(o.path, "[^/]+") + "$")
		if !slices.ContainsFunc(shown, path.MatchString) {
			t.Errorf("docs/api.md has no example of %s %s", o.method, o.path)
		}
	}
}

// The committed page is rendered from the routes, in a test: a template in the product would keep all methods of all types in the binary.
func TestDocsPageIsCommitted(t *testing.T) {
	const file = "docs.html"
	got, err := renderDocs(mount(chi.NewRouter(), &server{}))
	must(t, err)
	if *update {
		must(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
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

var update = flag.Bool("update", false, "rewrite the committed files that are generated from the code")

//go:generate go test . -run IsCommitted$ -update

// The committed document is what the code serves, so that a change of the contract shows in review.
func TestOpenAPIDocumentIsCommitted(t *testing.T) {
	const file = "openapi.json"
	served := newFixture(t).get(t, "/openapi.json")
	if served.Code != http.StatusOK {
		t.Fatalf("GET /openapi.json: %d", served.Code)
	}
	got := served.Body.String()
	if *update {
		must(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what is served; run go test ./api -run %s -update (-committed +served):\n%s", file, t.Name(), diff)
	}
}

func TestOpenAPIDocumentIsValid(t *testing.T) {
	if err := served(t).Document(); err != nil {
		t.Error(err)
	}
}
