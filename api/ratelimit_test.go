package api

import (
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestTooManyRequests(t *testing.T) {
	f := newFixture(t)
	var err error
	f.handler, err = New(Options{
		Records: f.records, Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), RequestRate: 0.001,
	})
	if err != nil {
		t.Fatal(err)
	}
	if w := f.get(t, "/api/v1/self"); w.Code != 200 {
		t.Fatalf("the first request: %d", w.Code)
	}
	w := f.get(t, "/api/v1/self")
	if w.Code != 429 || w.Header().Get("Retry-After") == "" || w.Header().Get("X-Content-Type-Options") == "" {
		t.Errorf("the second: %d %v", w.Code, w.Header())
	}
	checkProblem(t, w)
	other := httptest.NewRequest("GET", "/api/v1/self", nil)
	other.RemoteAddr = "198.51.100.7:9"
	if w := f.do(t, other); w.Code != 200 {
		t.Errorf("another client: %d", w.Code)
	}
}
