package api

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// enoughGenerated is how many requests are enough for each operation to be met in all ways that count.
const enoughGenerated = 2_000

// sampleOfEach is how many of the generated requests of each route and status are held against the document themselves; all answers are.
const sampleOfEach = 12

var (
	generated = flag.Int("generated", enoughGenerated, "how many requests TestGeneratedRequests makes as each of two clients")
	seed      = flag.Uint64("seed", 0, "what they are made from; 0 is another each time")
)

// described is what the served document says of an operation, as far as requests are made from it.
type described struct {
	method, path string
	Parameters   []struct {
		Name, In string
		Required bool
		Schema   schema
	}
	RequestBody *struct {
		Content map[string]struct{ Schema schema }
	}
}

type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Format     string
	Enum       []any
	Minimum    *float64
	Maximum    *float64
	MaxLength  int
	Items      *schema
	Properties map[string]schema
	Required   []string
}

// generator makes requests from the served document: mostly such as it allows, now and then such as it does not.
type generator struct {
	*rand.Rand
	operations []described
	schemas    map[string]schema
	// known are names that are on record, so that not all questions are about nothing.
	known []string
}

func newGenerator(t *testing.T, f *fixture, seed uint64) *generator {
	t.Helper()
	var document struct {
		Paths      map[string]map[string]described
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(f.get(t, "/openapi.json").Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	g := &generator{
		Rand: rand.New(rand.NewPCG(seed, 0)), schemas: document.Components.Schemas,
		known: []string{"local", "shop", "Deployment", "cart", "ConfigMap", "Secret", "settings", "password", "level", "alice", "r-1", "c-2", aChange(1).ID},
	}
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(document.Paths[path])) {
			operation := document.Paths[path][method]
			operation.method, operation.path = strings.ToUpper(method), path
			g.operations = append(g.operations, operation)
		}
	}
	return g
}

// odd reports true once in n.
func (g *generator) odd(n int) bool { return g.IntN(n) == 0 }

func (g *generator) oneOf(list ...string) string { return list[g.IntN(len(list))] }

// text returns a value for a parameter of s.
func (g *generator) text(s schema) string {
	if s.Ref != "" {
		s = g.schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	switch {
	case g.odd(12):
		return g.oneOf("", "\x00", "%zz", strings.Repeat("a", 2000), "ü", "-1", "1e9", "null", "../..", "a,b,,c", "\r\nX: y", `"><script>`)
	case len(s.Enum) > 0:
		return fmt.Sprint(s.Enum[g.IntN(len(s.Enum))])
	case s.Items != nil:
		return g.text(*s.Items) + "," + g.text(*s.Items)
	case s.Type == "integer":
		return g.oneOf("1", "2", "500", "501", "0", "5000", "007")
	case s.Type == "boolean":
		return g.oneOf("true", "false")
	case s.Format == "date-time":
		return g.oneOf("2026-11-21T12:00:01Z", "2026-11-21T14:00:00.5+02:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "2026-11-21T12:00:00%2B24:00", "now")
	}
	return g.oneOf(g.known...)
}

// body returns JSON for s.
func (g *generator) body(s schema) any {
	if s.Ref != "" {
		s = g.schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	switch {
	case g.odd(25):
		return []any{nil, 1.5, "", []any{}, map[string]any{}, true}[g.IntN(6)]
	case len(s.Properties) > 0:
		object := map[string]any{}
		for name, property := range s.Properties {
			if slices.Contains(s.Required, name) && !g.odd(25) || g.odd(2) {
				object[name] = g.body(property)
			}
		}
		return object
	case s.Items != nil:
		list := make([]any, g.IntN(4))
		for i := range list {
			list[i] = g.body(*s.Items)
		}
		return list
	}
	return g.text(s)
}

// request returns a request, whose context has ended already: a stream says what it has to say and no more.
func (g *generator) request() *http.Request {
	operation := g.operations[g.IntN(len(g.operations))]
	path, query := operation.path, url.Values{}
	headers := http.Header{}
	for _, p := range operation.Parameters {
		switch {
		case p.In == "path":
			value := g.text(p.Schema)
			if value == "" {
				value = "-"
			}
			path = strings.Replace(path, "{"+p.Name+"}", url.PathEscape(value), 1)
		case g.odd(3) && p.In == "query":
			query.Set(p.Name, g.text(p.Schema))
		case g.odd(3) && p.In == "header":
			headers.Set(p.Name, g.text(p.Schema))
		}
	}
	if g.odd(20) {
		query.Set(g.oneOf("x", "limit", "continue", "%"), g.text(schema{}))
	}
	var body []byte
	if operation.RequestBody != nil {
		body, _ = json.Marshal(g.body(operation.RequestBody.Content["application/json"].Schema))
		headers.Set("Content-Type", g.oneOf("application/json", "application/json", "application/json", "text/plain", "application/json; charset=utf-8"))
	}
	if g.odd(10) {
		headers.Set("Accept", g.oneOf("*/*", "text/html", "application/json;q=0.1", ";;;", eventStream))
	}
	r := httptest.NewRequest(operation.method, "/", strings.NewReader(string(body)))
	r.URL.Path, _ = url.PathUnescape(path)
	r.URL.RawPath, r.URL.RawQuery, r.Header = path, query.Encode(), headers
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	return r.WithContext(ended)
}

// No request that can be made from the document is answered with a fault of ours, and every answer is as the document says: where nobody
// can be distinguished, and to a user who may do everything.
func TestGeneratedRequests(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("go test ./api -run %s -seed %d", t.Name(), *seed)
	made := 0
	for _, who := range []string{"", "alice"} {
		t.Run("as "+who, func(t *testing.T) {
			f := newFixture(t)
			f.sample = sampleOfEach
			f.populate()
			if who != "" {
				f.guard(t, door{allowed: everything})
			}
			g := newGenerator(t, f, *seed)
			codes := g.ask(t, f, who)
			for _, n := range codes {
				made += n
			}
			t.Logf("%d operations, answers: %v", len(g.operations), codes)
			if *generated >= enoughGenerated && (codes[200] < *generated/4 || codes[422] == 0 || codes[404] == 0 || codes[400] == 0) {
				t.Errorf("the requests are not of every kind: %v", codes)
			}
		})
	}
	if made != 2**generated {
		t.Errorf("%d requests were made, want %d", made, 2**generated)
	}
}

// ask makes requests of f as who, each of which must be answered as the document says, and counts the answers of each status.
func (g *generator) ask(t *testing.T, f *fixture, who string) map[int]int {
	t.Helper()
	codes, done := map[int]int{}, map[string]bool{}
	for range *generated {
		r := g.request()
		if who != "" {
			r.Header.Set("Authorization", who)
		}
		w := f.do(t, r)
		codes[w.Code]++
		if w.Code == http.StatusOK {
			done[strings.Join(strings.Split(r.URL.Path, "/")[:4], "/")] = true
		}
		if w.Code >= 500 {
			t.Errorf("%s %s: %d %s", r.Method, r.URL, w.Code, w.Body)
		}
		if t.Failed() {
			t.Fatalf("%s %s", r.Method, r.URL)
		}
	}
	for _, operation := range g.operations {
		if prefix := strings.Join(strings.Split(operation.path, "/")[:4], "/"); *generated >= enoughGenerated && !done[prefix] {
			t.Errorf("no request to %s was ever answered", prefix)
		}
	}
	return codes
}
