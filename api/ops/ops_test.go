package ops

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func ask(o Options, target string, change func(*http.Request)) *httptest.ResponseRecorder {
	o.Logger = slog.New(slog.DiscardHandler)
	if o.Gatherer == nil {
		o.Gatherer = prometheus.NewRegistry()
	}
	return send(New(o), target, change)
}

// send sends a request as kubectl port-forward does, unless change makes another of it.
func send(handler http.Handler, target string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", target, nil)
	r.Host, r.RemoteAddr = "localhost:9090", "127.0.0.1:4711"
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func TestProbes(t *testing.T) {
	states := func(checks ...Check) func() []Check { return func() []Check { return checks } }
	well := states(Check{Name: "nats"}, Check{Name: "cache"})
	ill := states(Check{Name: "nats", Err: errors.New("no connection\n[+]nats ok")}, Check{Name: "cache"})
	cases := map[string]struct {
		options Options
		target  string
		code    int
		body    string
	}{
		"alive whatever is ill":          {Options{Live: ill, Ready: ill}, "/live", 200, "alive"},
		"ready":                          {Options{Ready: well, Live: ill}, "/readyz", 200, "ok"},
		"ready, in full":                 {Options{Ready: well}, "/readyz?verbose", 200, "[+]nats ok\n[+]cache ok\nok\n"},
		"not ready says why on one line": {Options{Ready: ill, Live: well}, "/readyz", 503, "[-]nats failed: no connection [+]nats ok\n[+]cache ok\nfailed\n"},
		"live without checks":            {Options{}, "/livez", 200, "ok"},
		"live with a failed check":       {Options{Live: ill}, "/livez", 503, "[-]nats failed: no connection [+]nats ok\n[+]cache ok\nfailed\n"},
		"no profiling":                   {Options{}, "/debug/pprof/", 404, "404 page not found\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := ask(tc.options, tc.target, nil)
			if w.Code != tc.code || w.Body.String() != tc.body {
				t.Errorf("GET %s: got %d %q, want %d %q", tc.target, w.Code, w.Body, tc.code, tc.body)
			}
			if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") || w.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("headers: %v", w.Header())
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "reroll_test_seconds", Help: "A test.", Buckets: []float64{1}, NativeHistogramBucketFactor: 1.1,
		NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
	})
	registry.MustRegister(histogram)
	histogram.Observe(0.5)
	cases := map[string]struct{ accept, contentType, contains string }{
		"text":                          {"text/plain", "text/plain", "reroll_test_seconds_count 1"},
		"OpenMetrics":                   {"application/openmetrics-text;version=1.0.0", "application/openmetrics-text", "# EOF"},
		"protobuf, with native buckets": {"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited", "application/vnd.google.protobuf", "reroll_test_seconds"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := ask(Options{Gatherer: registry}, "/metrics", func(r *http.Request) { r.Header.Set("Accept", tc.accept) })
			if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), tc.contentType) || !strings.Contains(w.Body.String(), tc.contains) {
				t.Errorf("got %d %q %.200q", w.Code, w.Header().Get("Content-Type"), w.Body)
			}
		})
	}
}
