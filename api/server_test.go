package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestOnlyReading(t *testing.T) {
	f := newFixture(t)
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"} {
		for _, path := range []string{"/api/v1/changes", "/api/v1/workloads/a/b/c/d", "/openapi.json"} {
			w := f.do(t, httptest.NewRequest(method, path, nil))
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: got %d, Allow %q", method, path, w.Code, w.Header().Get("Allow"))
			}
			checkProblem(t, w)
		}
	}
}

// checkProblem fails the test unless w is a problem document whose status is that of the answer.
func checkProblem(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	var problem huma.ErrorModel
	if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil {
		t.Fatalf("no problem document: %v: %s", err, w.Body)
	}
	if w.Header().Get("Content-Type") != "application/problem+json" || problem.Status != w.Code || problem.Title == "" || problem.Detail == "" {
		t.Errorf("incomplete problem: %q %+v", w.Header().Get("Content-Type"), problem)
	}
}

func TestHeadersOnEveryAnswer(t *testing.T) {
	f := newFixture(t)
	for _, target := range []string{"/api/v1/changes", "/openapi.json", "/nowhere", "/api/v1/changes?x=y", "/api/v1/changes?x"} {
		h := f.get(t, target).Header()
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("GET %s: headers missing: %v", target, h)
		}
		if h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("GET %s: open to other origins", target)
		}
	}
}

func TestPanicIsA500WithoutDetail(t *testing.T) {
	var log bytes.Buffer
	registry := prometheus.NewRegistry()
	m := newMetrics(registry)
	// The route is behind everything that is before every route.
	h := newRouter(m, Options{Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), RequestRate: unlimited})
	h.Get("/fault/{id}", func(http.ResponseWriter, *http.Request) { panic(errors.New("inner secret")) })
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/fault/1", nil))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "inner secret") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	checkProblem(t, w)
	if !strings.Contains(log.String(), "inner secret") || !strings.Contains(log.String(), "server_test.go") {
		t.Errorf("the log does not say what happened: %s", log.String())
	}
	want := `
		# HELP reroll_api_requests_total Requests to the API, by the pattern of their route and the status of the answer.
		# TYPE reroll_api_requests_total counter
		reroll_api_requests_total{code="500",route="/fault/{id}"} 1
	`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "reroll_api_requests_total"); err != nil {
		t.Error(err)
	}
}

func TestRequestsAreCountedByPattern(t *testing.T) {
	f := newFixture(t)
	f.get(t, "/api/v1/changes/c-1")
	f.get(t, "/api/v1/changes/c-2")
	f.get(t, "/api/v1/changes")
	f.get(t, "/made/up")
	f.do(t, httptest.NewRequest("BREW", "/api/v1/changes", nil))
	f.do(t, httptest.NewRequest("HEAD", "/api/v1/changes", nil))
	want := `
		# HELP reroll_api_requests_total Requests to the API, by the pattern of their route and the status of the answer.
		# TYPE reroll_api_requests_total counter
		reroll_api_requests_total{code="200",route="/api/v1/changes"} 2
		reroll_api_requests_total{code="404",route="/api/v1/changes/{id}"} 2
		reroll_api_requests_total{code="404",route="unmatched"} 1
		reroll_api_requests_total{code="405",route="unmatched"} 1
	`
	if err := testutil.GatherAndCompare(f.metrics, strings.NewReader(want), "reroll_api_requests_total"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(f.metrics, "reroll_api_request_duration_seconds"); n != 3 {
		t.Errorf("%d series of durations, want one for each of 3 routes", n)
	}
	if problems, err := testutil.GatherAndLint(f.metrics); err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v %v", problems, err)
	}
}

func TestServerLimits(t *testing.T) {
	server := HTTPServer(chi.NewMux(), slog.New(slog.DiscardHandler))
	if server.ReadHeaderTimeout <= 0 || server.ReadTimeout <= 0 || server.WriteTimeout <= 0 || server.IdleTimeout <= 0 || server.MaxHeaderBytes <= 0 {
		t.Errorf("a limit is missing: %+v", server)
	}
	w := httptest.NewRecorder()
	server.Handler.ServeHTTP(w, httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("a", maxBodyBytes+1))))
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body that is too large: got %d", w.Code)
	}
	checkProblem(t, w)
}

// TestForeignNames: a page whose name leads to a server has the origin of the API there. It reads nothing of a loopback, and nothing of a server that
// lets in anyone who reaches it, unless no page in the internet can have that name.
func TestForeignNames(t *testing.T) {
	const both, private, none = 2, 1, 0
	hosts := map[string]int{
		"localhost": both, "LOCALHOST:8080": both, "localhost.:8080": both, "reroll.localhost:8080": both, "127.0.0.1": both, "127.0.0.1:40001": both,
		"10.0.0.7:8080": both, "[::1]": both, "[::1]:8080": both, "[fe80::1%eth0]:8080": both,
		"api:8080": private, "reroll-api.reroll.svc": private, "reroll-api.reroll.svc.cluster.local:8080": private, "reroll.corp.internal": private,
		"svc": private, "Reroll.Example:8080": private, "reroll.example.": private, "evillocalhost": private,
		"evil.example": none, "evil.example:8080": none, "evil.example.": none, "localhost.evil.example": none, "127.0.0.1.evil.example": none,
		"reroll.example.evil.example": none, "evilreroll.example": none, "cluster.local.evil.example": none, "0x7f000001": none, "2130706433": none,
		"127.1": none, "": none, ":8080": none,
	}
	for kind, least := range map[Hosts]int{LocalHosts: both, PrivateHosts: private} {
		f := populated(t)
		o := Options{Hosts: kind, Logger: slog.New(slog.DiscardHandler)}
		if kind == PrivateHosts {
			o.HostNames = []string{"reroll.example"}
		}
		f.guardWith(t, o)
		ask := func(host, target string, allowed bool) {
			t.Helper()
			r := httptest.NewRequest(http.MethodGet, target, nil)
			r.Host = host
			w := f.do(t, r)
			if allowed != (w.Code == http.StatusOK) || !allowed && w.Code != http.StatusForbidden {
				t.Errorf("GET %s of %q, for hosts of kind %d: %d", target, host, kind, w.Code)
			}
			if !allowed {
				checkProblem(t, w)
			}
		}
		ask("evil.example", "/api/v1/changes", false)
		f.deniedOnce(t, deniedForeignHost)
		for _, target := range []string{"/openapi.json", "/"} {
			ask("evil.example", target, false)
			ask("localhost", target, true)
		}
		for host, by := range hosts {
			ask(host, "/api/v1/changes", by >= least)
		}
	}
}
