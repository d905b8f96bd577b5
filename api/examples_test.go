package api

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/api/ui"
	"github.com/reroll-dev/reroll/reloader"
)

// TestExamplesAreAnswers: each operation but the stream of events has an example, which is an answer as described.
func TestExamplesAreAnswers(t *testing.T) {
	requests := map[string]*http.Request{"list-impact": httptest.NewRequest(http.MethodPost, "/api/v1/impact", nil)}
	for id, path := range map[string]string{
		"list-changes": "changes", "get-change": "changes/c-2", "list-reloads": "reloads", "get-reload": "reloads/r-1", "list-workloads": "workloads",
		"get-workload": strings.TrimPrefix(cartPath, "/api/v1/"), "list-clusters": "clusters", "get-self": "self", "get-stats": "stats",
	} {
		requests[id] = httptest.NewRequest(http.MethodGet, "/api/v1/"+path, nil)
	}
	all := examples()
	if len(all) != len(requests) || len(all) != len(operationsOf(t, newFixture(t)))-1 {
		t.Errorf("%d examples", len(all))
	}
	for id, r := range requests {
		body, err := json.Marshal(all[id])
		if err != nil {
			t.Fatal(err)
		}
		answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(body)))}
		if err := served(t).Answer(r, answer); err != nil {
			t.Errorf("%s: %v\n%s", id, err, body)
		}
	}
}

// TestDocsPage: it tells of every operation, leads nowhere that is not there, and needs nothing from elsewhere.
func TestDocsPage(t *testing.T) {
	f := newFixture(t)
	w := f.get(t, "/docs")
	page := w.Body.String()
	if w.Code != http.StatusOK || w.Header().Get("Content-Security-Policy") != ui.Policy || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	for _, o := range operationsOf(t, f) {
		if !strings.Contains(page, "<code>"+o.method+" "+o.path+"</code>") {
			t.Errorf("nothing about %s %s", o.method, o.path)
		}
	}
	if said := reloader.ReasonReloaded.Says(); !strings.Contains(page, "The workload "+said+".") {
		t.Errorf("nothing about reasons, such as: %s", said)
	}
	for _, link := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		id, inside := strings.CutPrefix(link[1], "#")
		switch {
		case inside && !strings.Contains(page, `id="`+id+`"`):
			t.Errorf("nothing has the id %s", id)
		case !inside && f.get(t, "/"+strings.TrimPrefix(link[1], ".")).Code != http.StatusOK:
			t.Errorf("there is nothing at %s", link[1])
		}
	}
	for _, foreign := range []string{"<script", "style=", "http:", "https:"} {
		if strings.Contains(page, foreign) {
			t.Errorf("the page has %s", foreign)
		}
	}
}
