package api

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/ui"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// Every answer in this package's tests is checked against the served document by fixture.do; here are those of each kind.
func TestEveryRouteKeepsItsContract(t *testing.T) {
	f := populated(t)
	change := aChange(1)
	bare := aWorkload("shop", "bare")
	bare.Edges, bare.Hold = []reloader.Edge{{Config: change.Config, Why: reloader.ReasonNamed}}, nil
	f.records.PutWorkload(bare)

	cases := map[string]struct {
		target string
		code   int
	}{
		"change that is unknown":      {"/api/v1/changes/c-none", 404},
		"workload never baseline":     {"/api/v1/workloads/local/shop/Deployment/bare", 200},
		"kind is case-sensitive":      {"/api/v1/workloads/local/shop/deployment/cart", 404},
		"unknown parameter":           {"/api/v1/changes?nmae=x", 422},
		"parameter of another":        {"/api/v1/workloads?outcome=Reloaded", 422},
		"limit zero":                  {"/api/v1/changes?limit=0", 422},
		"kind of no config":           {"/api/v1/changes?configKind=Deployment", 422},
		"reason, not an outcome":      {"/api/v1/reloads?outcome=Frozen", 422},
		"since no time":               {"/api/v1/changes?since=yesterday", 422},
		"since with an offset":        {"/api/v1/changes?since=2026-01-01T00:00:00.5%2B23:59", 200},
		"since a day off":             {"/api/v1/changes?since=2026-01-01T00:00:00%2B24:00", 422},
		"cursor malformed":            {"/api/v1/changes?continue=%21", 400},
		"cursor too long":             {"/api/v1/changes?continue=" + strings.Repeat("A", 1025), 422},
		"parameter twice":             {"/api/v1/changes?limit=1&limit=2", 400},
		"parameter without value":     {"/api/v1/changes?includeBaselines&limit=2", 400},
		"bad escape":                  {"/api/v1/changes?name=%zz", 400},
		"health not in the list":      {"/api/v1/clusters?health=Fine", 422},
		"explain half a config":       {cartPath + "?configKind=Secret", 422},
		"explain a stranger":          {"/api/v1/workloads/local/shop/Deployment/none?configKind=Secret&configName=password", 404},
		"impact is a path of its own": {"/api/v1/impact", 405},
		"stats of a span that ends":   {"/api/v1/stats?since=2026-11-21T12:00:00Z&until=2026-11-21T12:00:00Z", 422},
		"stats of all time":           {"/api/v1/stats?since=0002-01-01T00:00:00Z&until=9999-12-31T23:59:59Z", 422},
		"stats beyond the calendar":   {"/api/v1/stats?until=9999-12-31T23:59:59-23:59", 422},
		"cursor of another listing":   {"/api/v1/clusters?continue=" + cursor("a", binding("workloads", StateFilter{})), 400},
		"cursor that is no place":     {"/api/v1/workloads?continue=" + cursor("a", binding("workloads", StateFilter{})), 400},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := f.get(t, tc.target)
			if w.Code != tc.code {
				t.Errorf("GET %s: got %d, want %d: %s", tc.target, w.Code, tc.code, w.Body)
			}
			wantType := "application/json"
			if tc.code >= 400 {
				wantType = "application/problem+json"
			}
			if got := w.Header().Get("Content-Type"); got != wantType {
				t.Errorf("GET %s: content type %q, want %q", tc.target, got, wantType)
			}
		})
	}
}

func TestAnswersHideKeyFingerprints(t *testing.T) {
	f := newFixture(t)
	c := aChange(1)
	f.records.AddChange(1, c)
	f.records.AddReload(1, aReload(1))
	f.records.PutWorkload(aWorkload("shop", "cart"))
	targets := []string{
		"/api/v1/changes", "/api/v1/changes/" + c.ID, "/api/v1/reloads", "/api/v1/reloads/r-1",
		"/api/v1/workloads", "/api/v1/workloads/local/shop/Deployment/cart",
	}
	for _, target := range targets {
		body := f.get(t, target).Body.String()
		if !strings.Contains(body, "shop") {
			t.Fatalf("GET %s shows nothing: %s", target, body)
		}
		if strings.Contains(body, "per-key-fingerprint") {
			t.Errorf("GET %s shows the fingerprint of a key", target)
		}
	}
}

func TestBeforeCatchingUp(t *testing.T) {
	f := newFixtureAt(t, projection.New(projection.Limits{}))
	f.records.AddChange(1, aChange(1))
	if page := list[view.ChangeRow](t, f, "/api/v1/changes"); len(page.Items) != 1 || len(page.Warnings) != 1 {
		t.Errorf("want what is there, and a warning: %+v", page)
	}
	w := f.get(t, "/api/v1/changes/c-none")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("an unknown change may still come: got %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	f.records.PutCluster(aStatus())
	f.records.SetCaughtUp()
	if page := list[view.ChangeRow](t, f, "/api/v1/changes"); len(page.Warnings) != 0 {
		t.Errorf("warnings after catching up: %v", page.Warnings)
	}
	if w := f.get(t, "/api/v1/changes/c-none"); w.Code != http.StatusNotFound {
		t.Errorf("after catching up: got %d, want 404", w.Code)
	}
}

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
		must(t, err)
		answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(body)))}
		if err := served(t).Answer(r, answer); err != nil {
			t.Errorf("%s: %v\n%s", id, err, body)
		}
	}
}

// TestDocsPage: it needs nothing from elsewhere, and leads nowhere that is not there.
func TestDocsPage(t *testing.T) {
	f := newFixture(t)
	w := f.get(t, "/docs")
	page := w.Body.String()
	if w.Code != http.StatusOK || w.Header().Get("Content-Security-Policy") != ui.Policy || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		t.Fatalf("%d %v", w.Code, w.Header())
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
