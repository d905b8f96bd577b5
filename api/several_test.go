package api

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/api/clients"
)

// TestIDsOfSeveralClusters: where two clusters have a record of one ID, the question has to name the cluster, and gets that one's.
func TestIDsOfSeveralClusters(t *testing.T) {
	f := populated(t)
	c, r := aChange(1), aReload(1)
	c.Cluster, r.Cluster = "red", "red"
	f.records.AddChange(100, c)
	f.records.AddReload(100, r)
	for _, target := range []string{"/api/v1/changes/" + c.ID, "/api/v1/reloads/" + r.ID} {
		if w := f.get(t, target); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "cluster") {
			t.Errorf("GET %s: %d %s", target, w.Code, w.Body)
		}
		for _, cluster := range []string{"local", "red"} {
			var got struct{ Cluster string }
			w := f.get(t, target+"?cluster="+cluster)
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || got.Cluster != cluster {
				t.Errorf("GET %s of %s: %d %s", target, cluster, w.Code, w.Body)
			}
		}
		if w := f.get(t, target+"?cluster=blue"); w.Code != http.StatusNotFound {
			t.Errorf("GET %s of a cluster that has none: %d", target, w.Code)
		}
	}
}

// TestStreamsOfOneClient: a client that has as many streams open as it may gets no more, from whatever address a user asks; others do.
func TestStreamsOfOneClient(t *testing.T) {
	for name, tc := range map[string]struct {
		access      Access
		user, other string
		moves       bool
	}{
		"one user at several addresses": {access: door{allowed: everything}, user: "alice", other: "bob", moves: true},
		"one address without users":     {},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.guard(t, tc.access)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			ask := func(user, address string) *streaming {
				r := httptest.NewRequest(http.MethodGet, "/api/v1/events", nil).WithContext(ctx)
				r.RemoteAddr = address
				if user != "" {
					r.Header.Set("Authorization", user)
				}
				s := &streaming{ResponseRecorder: httptest.NewRecorder(), answered: make(chan int, 1)}
				go func() {
					f.handler.ServeHTTP(s, r)
					ended <- struct{}{}
				}()
				return s
			}
			address := func(n int) string {
				if !tc.moves {
					n = 0
				}
				return fmt.Sprintf("198.51.100.%d:9", n)
			}
			for n := range maxStreamsOfClient {
				if code := <-ask(tc.user, address(n)).answered; code != http.StatusOK {
					t.Fatalf("stream %d: %d", n, code)
				}
			}
			if code := <-ask(tc.user, address(maxStreamsOfClient)).answered; code != http.StatusTooManyRequests {
				t.Errorf("one more stream: %d", code)
			}
			if code := <-ask(tc.other, "203.0.113.9:9").answered; code != http.StatusOK {
				t.Errorf("a stream of another client: %d", code)
			}
			cancel()
			for range maxStreamsOfClient + 2 {
				<-ended
			}
		})
	}
}

// streaming is a client of a stream that tells the status as soon as it has it.
type streaming struct {
	*httptest.ResponseRecorder
	answered chan int
}

func (s *streaming) WriteHeader(code int) {
	s.ResponseRecorder.WriteHeader(code)
	s.answered <- code
}

// TestScansTakeTurns: a client whose questions walk through what is kept has so many of them at once, and keeps no other waiting.
func TestScansTakeTurns(t *testing.T) {
	f := populated(t)
	a := &server{records: f.records, scans: clients.NewTurns(1)}
	from := func(ctx context.Context, address string) context.Context {
		return context.WithValue(ctx, addressKey{}, address)
	}
	done, err := a.scan(from(t.Context(), "busy"))
	must(t, err)
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	questions := map[string]func(context.Context) error{
		"statistics": func(ctx context.Context) error {
			_, err := a.getStats(ctx, &getStatsInput{})
			return err
		},
		"a listing": func(ctx context.Context) error {
			_, err := a.listReloads(ctx, &listReloadsInput{Paging: Paging{Limit: 1}})
			return err
		},
		"workloads": func(ctx context.Context) error {
			_, err := a.listWorkloads(ctx, &listWorkloadsInput{Paging: Paging{Limit: 1}})
			return err
		},
	}
	for name, ask := range questions {
		if err := ask(from(impatient, "busy")); err == nil {
			t.Errorf("%s: the client has another one under way, and does not wait", name)
		}
		if err := ask(from(t.Context(), "other")); err != nil {
			t.Errorf("%s for another client: %v", name, err)
		}
	}
	done()
	for name, ask := range questions {
		if err := ask(from(t.Context(), "busy")); err != nil {
			t.Errorf("%s when the other one is done: %v", name, err)
		}
	}
}

func TestTooManyRequests(t *testing.T) {
	f := newFixture(t)
	var err error
	f.handler, err = New(Options{
		Records: f.records, Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), RequestRate: 0.001,
	})
	must(t, err)
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
