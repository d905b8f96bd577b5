package api

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
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
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t)
	f.populate()
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
		if err != nil {
			t.Fatal(err)
		}
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
