package api

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
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
	if w := f.get(t, "/api/v1/version"); w.Code != 200 {
		t.Fatalf("the first request: %d", w.Code)
	}
	w := f.get(t, "/api/v1/version")
	if w.Code != 429 || w.Header().Get("Retry-After") == "" || w.Header().Get("X-Content-Type-Options") == "" {
		t.Errorf("the second: %d %v", w.Code, w.Header())
	}
	checkProblem(t, w)
	other := httptest.NewRequest("GET", "/api/v1/version", nil)
	other.RemoteAddr = "198.51.100.7:9"
	if w := f.do(t, other); w.Code != 200 {
		t.Errorf("another client: %d", w.Code)
	}
}

func TestRateOfOneClient(t *testing.T) {
	c := &clientLimiters{perSecond: 2, burst: 4, byClient: map[string]*rate.Limiter{}}
	now := time.Unix(1000, 0)
	allowed := 0
	for range 10 {
		if c.allow("a", now) {
			allowed++
		}
	}
	if allowed != 4 {
		t.Errorf("%d at once, want 4", allowed)
	}
	now = now.Add(time.Second)
	more := []bool{c.allow("a", now), c.allow("a", now), c.allow("a", now)}
	same(t, "after a second", []bool{true, true, false}, more)
}

func TestClientsAreBounded(t *testing.T) {
	c := &clientLimiters{perSecond: 1, burst: 1, byClient: map[string]*rate.Limiter{}}
	now := time.Unix(1000, 0)
	refused := 0
	for n := range 2 * maxRatedClients {
		if !c.allow(fmt.Sprint(n), now) {
			refused++
		}
	}
	if len(c.byClient) > maxRatedClients+1 || refused < maxRatedClients-1 {
		t.Errorf("%d clients are told apart, %d refused: those beyond share one rate", len(c.byClient), refused)
	}
	if !c.allow("new", now.Add(time.Hour)) || len(c.byClient) != 1 {
		t.Errorf("%d are remembered after an hour, want the one that asked", len(c.byClient))
	}
}

func TestClientOf(t *testing.T) {
	for remote, want := range map[string]string{
		"10.0.0.7:80": "10.0.0.7", "[::ffff:10.0.0.7]:80": "10.0.0.7", "[2001:db8:1:2:3::4]:80": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80": "fe80::/64", "pipe": "pipe",
	} {
		if got := clientOf(remote); got != want {
			t.Errorf("%s: got %s, want %s", remote, got, want)
		}
	}
}
