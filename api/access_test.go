package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// door is an Access whose users are named by the header Authorization.
type door struct {
	allowed func(User, Deed) (bool, error)
	fault   error
}

func (d door) Authenticate(r *http.Request) (User, bool, error) {
	name := r.Header.Get("Authorization")
	return User{Name: name, Groups: []string{"staff"}}, name != "", d.fault
}

func (d door) Allowed(_ context.Context, u User, deed Deed) (bool, error) { return d.allowed(u, deed) }

func everything(User, Deed) (bool, error) { return true, nil }
func nothing(User, Deed) (bool, error)    { return false, nil }

// inShop lets people do anything in the namespace shop, and nothing elsewhere.
func inShop(_ User, d Deed) (bool, error) { return d.Namespace == "shop", nil }

// guard puts access in front of f.
func (f *fixture) guard(t testing.TB, access Access) {
	t.Helper()
	f.guardWith(t, Options{Access: access, Logger: slog.New(slog.DiscardHandler)})
}

// guardWith is guard with a logger, and the options that this is about.
func (f *fixture) guardWith(t testing.TB, o Options) {
	t.Helper()
	f.metrics = prometheus.NewRegistry()
	o.Records, o.Version, o.Cluster, o.Metrics, o.RequestRate = f.records, "v1.2.3", "local", f.metrics, unlimited
	var err error
	if f.handler, err = New(o); err != nil {
		t.Fatal(err)
	}
}

// as sends a request of a user, who is nobody if the name is empty.
func (f *fixture) as(t testing.TB, user, method, target, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if user != "" {
		r.Header.Set("Authorization", user)
	}
	return f.do(t, r)
}

// TestWhoMayNothingGetsNothing asks every operation of the document: nobody is told to say who they are, and somebody without rights gets
// nothing but what is nobody's secret.
func TestWhoMayNothingGetsNothing(t *testing.T) {
	f := populated(t)
	f.guard(t, door{allowed: nothing})
	open := map[string]bool{"/api/v1/self": true}
	asked := 0
	for _, o := range operationsOf(t, f) {
		target := strings.NewReplacer("{cluster}", "local", "{namespace}", "shop", "{kind}", "Deployment", "{name}", "cart", "{id}", aChange(1).ID).Replace(o.path)
		body := ""
		if o.path == "/api/v1/impact" {
			body = `{"configs":[{"cluster":"local","kind":"Secret","namespace":"shop","name":"password"}]}`
		}
		if w := f.as(t, "", o.method, target, body); w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("nobody's %s %s: %d", o.method, target, w.Code)
		}
		want := http.StatusForbidden
		if open[o.path] {
			want = http.StatusOK
		}
		if w := f.as(t, "alice", o.method, target, body); w.Code != want {
			t.Errorf("%s %s without rights: %d, want %d: %s", o.method, target, w.Code, want, w.Body)
		}
		asked++
	}
	if asked < 11 {
		t.Errorf("only %d operations were asked", asked)
	}
	for _, target := range []string{"/openapi.json", "/"} {
		if w := f.as(t, "", http.MethodGet, target, ""); w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden {
			t.Errorf("GET %s, which is nobody's secret: %d", target, w.Code)
		}
	}
}

func TestRightsInOneNamespace(t *testing.T) {
	f := populated(t)
	bank := aReload(9)
	bank.Workload.Namespace = "bank"
	f.records.AddReload(9, bank)
	f.guard(t, door{allowed: inShop})
	cases := map[string]struct {
		target string
		code   int
	}{
		"a listing of it":                  {"/api/v1/changes?namespace=shop", 200},
		"a listing of all":                 {"/api/v1/changes", 403},
		"a listing of another":             {"/api/v1/changes?namespace=bank", 403},
		"an empty filter is none":          {"/api/v1/workloads?namespace=", 403},
		"a record of it by ID":             {"/api/v1/reloads/r-1", 200},
		"a record of another by ID":        {"/api/v1/reloads/r-9", 403},
		"no record: the same answer":       {"/api/v1/reloads/r-none", 403},
		"a workload of it":                 {cartPath, 200},
		"a workload of another":            {"/api/v1/workloads/local/bank/Deployment/cart", 403},
		"a workload with an escaped slash": {"/api/v1/workloads/local/shop%2F..%2Fbank/Deployment/cart", 403},
		"statistics of it":                 {"/api/v1/stats?namespace=shop", 200},
		"statistics of all":                {"/api/v1/stats", 403},
		"clusters, which are in no one":    {"/api/v1/clusters", 403},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if w := f.as(t, "alice", http.MethodGet, tc.target, ""); w.Code != tc.code {
				t.Errorf("GET %s: %d, want %d: %s", tc.target, w.Code, tc.code, w.Body)
			}
		})
	}
	two := `{"configs":[{"cluster":"local","kind":"Secret","namespace":"shop","name":"a"},{"cluster":"local","kind":"Secret","namespace":"bank","name":"a"}]}`
	if w := f.as(t, "alice", http.MethodPost, "/api/v1/impact", two); w.Code != http.StatusForbidden {
		t.Errorf("impact of a config elsewhere: %d", w.Code)
	}
}

// TestWorkloadsOfOtherNamespacesAreLeftOut: a config may be asked for by workloads of any namespace. Who may look into its own alone is shown
// those, and told that there are others.
func TestWorkloadsOfOtherNamespacesAreLeftOut(t *testing.T) {
	f := populated(t)
	till := aWorkload("bank", "till")
	till.Edges = []reloader.Edge{{Config: aChange(1).Config, Why: reloader.ReasonNamed, Pending: aChange(3).ID}}
	till.Hold.Message = "of bank"
	f.records.PutWorkload(till)
	reload := aReload(3)
	reload.ID, reload.Workload, reload.Message = "r-bank", till.Workload, "of bank"
	f.records.AddReload(9, reload)
	status := aStatus()
	status.Pauses = nil
	f.records.PutCluster(status)
	one := `{"configs":[{"cluster":"local","kind":"ConfigMap","namespace":"shop","name":"settings"}]}`
	questions := []struct{ method, target, body string }{
		{http.MethodGet, "/api/v1/changes?namespace=shop", ""},
		{http.MethodGet, "/api/v1/changes?namespace=shop&workloadName=till", ""},
		{http.MethodGet, "/api/v1/changes/" + aChange(3).ID, ""},
		{http.MethodPost, "/api/v1/impact", one},
	}
	for _, q := range questions {
		t.Run(q.method+" "+q.target, func(t *testing.T) {
			f.guard(t, door{allowed: everything})
			whole := f.as(t, "root", q.method, q.target, q.body)
			if whole.Code != http.StatusOK || !strings.Contains(whole.Body.String(), "bank") || strings.Contains(whole.Body.String(), "left out") {
				t.Errorf("who may look everywhere: %d %s", whole.Code, whole.Body)
			}
			f.guard(t, door{allowed: inShop})
			part := f.as(t, "alice", q.method, q.target, q.body)
			told := strings.Contains(part.Body.String(), "left out") || strings.HasPrefix(q.target, "/api/v1/changes/") // a record has no warnings
			if part.Code != http.StatusOK || strings.Contains(part.Body.String(), "bank") || strings.Contains(part.Body.String(), "till") || !told {
				t.Errorf("who may look into shop alone: %d %s", part.Code, part.Body)
			}
			if strings.Contains(part.Body.String(), `"complete":true`) {
				t.Errorf("an impact of which some is left out is complete: %s", part.Body)
			}
		})
	}
}

// TestSightIsAskedOnce: rights are asked about for each namespace once, and for none if everything may be seen; without an answer there is none.
func TestSightIsAskedOnce(t *testing.T) {
	f := newFixture(t)
	for n := range 30 {
		w := aWorkload(fmt.Sprint("ns-", n%3), fmt.Sprint("w-", n))
		w.Edges[0].Config = aChange(1).Config
		f.records.PutWorkload(w)
	}
	f.records.PutCluster(aStatus())
	const question = `{"configs":[{"cluster":"local","kind":"ConfigMap","namespace":"shop","name":"settings"}]}`
	asked := 0
	ask := func(allowed func(User, Deed) (bool, error)) *httptest.ResponseRecorder {
		asked = 0
		f.guard(t, door{allowed: func(u User, d Deed) (bool, error) { asked++; return allowed(u, d) }})
		return f.as(t, "alice", http.MethodPost, "/api/v1/impact", question)
	}
	if w := ask(everything); w.Code != http.StatusOK || asked != 2 {
		t.Errorf("who may see all: %d, asked %d times", w.Code, asked)
	}
	if w := ask(inShop); w.Code != http.StatusOK || asked != 1+1+3 {
		t.Errorf("who may see one: %d, asked %d times", w.Code, asked)
	}
	away := errors.New("connection refused")
	if w := ask(func(_ User, d Deed) (bool, error) {
		if d.Namespace == "shop" {
			return true, nil
		}
		return false, away
	}); w.Code != http.StatusServiceUnavailable {
		t.Errorf("while nobody says: %d %s", w.Code, w.Body)
	}
}

// TestClustersAreNamedToThoseWhoMayListThem also where they are a reason for doubt.
func TestClustersAreNamedToThoseWhoMayListThem(t *testing.T) {
	f := populated(t)
	away := aStatus()
	away.At = start
	f.records.PutCluster(away)
	for name, allowed := range map[string]func(User, Deed) (bool, error){"may": everything, "may not": inShop} {
		f.guard(t, door{allowed: allowed})
		body := f.as(t, "alice", http.MethodGet, "/api/v1/workloads?namespace=shop", "").Body.String()
		if strings.Contains(body, "Cluster local") != (name == "may") || !strings.Contains(body, "out of date") {
			t.Errorf("who %s: %s", name, body)
		}
	}
}

func TestSelf(t *testing.T) {
	f := newFixture(t)
	f.guard(t, door{allowed: nothing})
	var self view.Self
	must(t, json.Unmarshal(f.as(t, "alice", http.MethodGet, "/api/v1/self", "").Body.Bytes(), &self))
	same(t, "self", view.Self{Authenticated: true, User: "alice", Groups: []string{"staff"}, Version: "v1.2.3"}, self)
}

// TestNoAnswerIsNoYes: while the API server cannot be asked nobody gets in.
func TestNoAnswerIsNoYes(t *testing.T) {
	away := errors.New("connection refused")
	for name, access := range map[string]Access{
		"who asks":         door{fault: away, allowed: everything},
		"what they may do": door{allowed: func(User, Deed) (bool, error) { return true, away }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.guard(t, access)
			w := f.as(t, "alice", http.MethodGet, "/api/v1/changes", "")
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "refused") {
				t.Errorf("%d, Retry-After %q: %s", w.Code, w.Header().Get("Retry-After"), w.Body)
			}
			f.deniedOnce(t, deniedUnavailable)
		})
	}
}

// deniedOnce fails the test unless one request was denied, for that reason.
func (f *fixture) deniedOnce(t *testing.T, reason string) {
	t.Helper()
	want := "# HELP reroll_api_denied_total " + deniedHelp + "\n# TYPE reroll_api_denied_total counter\n"
	for _, r := range slices.Sorted(slices.Values(deniedReasons)) {
		want += `reroll_api_denied_total{reason="` + r + `"} ` + map[bool]string{true: "1", false: "0"}[r == reason] + "\n"
	}
	if err := testutil.GatherAndCompare(f.metrics, strings.NewReader(want), "reroll_api_denied_total"); err != nil {
		t.Error(err)
	}
}

func TestPagesOfOtherOriginsPostNothing(t *testing.T) {
	f := newFixture(t)
	f.guard(t, door{allowed: everything})
	r := httptest.NewRequest(http.MethodPost, "/api/v1/impact", nil)
	r.Header.Set("Authorization", "alice")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if w := f.do(t, r); w.Code != http.StatusForbidden {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	f.deniedOnce(t, deniedCrossOrigin)
}
