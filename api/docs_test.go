package api

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// example is one call of curl in the documentation.
type example struct {
	line, method, url, body string
	headers                 http.Header
}

// readExample understands the few words of curl that the documentation uses.
func readExample(t *testing.T, line, server string) example {
	t.Helper()
	e := example{line: line, method: http.MethodGet, headers: http.Header{"Authorization": {"alice"}}}
	words := shellWords(line)
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-N":
		case word == "-X":
			i++
			e.method = words[i]
		case word == "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			e.headers.Set(name, value)
		case word == "-d":
			i++
			e.method, e.body = http.MethodPost, words[i]
		case strings.HasPrefix(word, "$REROLL/") && e.url == "":
			e.url = server + strings.TrimPrefix(word, "$REROLL")
		default:
			t.Fatalf("%s: what is %q?", line, word)
		}
	}
	return e
}

// shellWords splits a line at spaces outside quotes.
func shellWords(line string) []string {
	var quote rune
	return strings.Split(strings.Map(func(r rune) rune {
		switch {
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
			return -1
		case r == quote:
			quote = 0
			return -1
		case quote == 0 && r == ' ':
			return '\x00'
		}
		return r
	}, line), "\x00")
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
	shown := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "curl ") {
			continue
		}
		e := readExample(t, strings.TrimSpace(line), server.URL)
		answer := e.run(t, server.Client())
		if !strings.HasPrefix(strings.TrimSpace(answer), "{") && !strings.HasPrefix(answer, "event: ") {
			t.Errorf("%s answers %.200s", e.line, answer)
		}
		path, _, _ := strings.Cut(strings.TrimPrefix(e.url, server.URL), "?")
		shown[e.method+" "+path] = true
	}
	for _, o := range operationsOf(t, f) {
		if !hasExample(shown, o.method+" "+o.path) {
			t.Errorf("docs/api.md has no example of %s %s", o.method, o.path)
		}
	}
}

// run calls the API and returns the beginning of the answer.
func (e example) run(t *testing.T, client *http.Client) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), e.method, e.url, strings.NewReader(e.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = e.headers
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	beginning := make([]byte, 64)
	n, err := io.ReadAtLeast(response.Body, beginning, 16)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s: %s, %v: %s", e.line, response.Status, err, beginning[:n])
	}
	return string(beginning[:n])
}

// hasExample reports whether one of the examples is of an operation.
func hasExample(shown map[string]bool, operation string) bool {
	want := strings.Split(operation, "/")
	for s := range shown {
		got := strings.Split(s, "/")
		matches := len(got) == len(want)
		for i := 0; matches && i < len(want); i++ {
			matches = got[i] == want[i] || strings.HasPrefix(want[i], "{")
		}
		if matches {
			return true
		}
	}
	return false
}
