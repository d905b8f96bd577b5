package api

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// serve serves f's handler as the program does.
func serve(t testing.TB, f *fixture) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config = HTTPServer(f.handler, DefaultLimits(), slog.New(slog.DiscardHandler))
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// event is one event as a reader sees it.
type event struct{ id, name, data string }

// reader reads a stream of events.
type reader struct {
	t    testing.TB
	body io.ReadCloser
	in   *bufio.Scanner
}

func subscribe(t testing.TB, server *httptest.Server, query, lastID string) *reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/v1/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != eventStream {
		t.Fatalf("got %s %q", response.Status, response.Header.Get("Content-Type"))
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return &reader{t: t, body: response.Body, in: bufio.NewScanner(response.Body)}
}

// next returns the next event, and checks that it is one of those that are described.
func (r *reader) next() event {
	r.t.Helper()
	var e event
	for r.in.Scan() {
		key, value, _ := strings.Cut(r.in.Text(), ": ")
		switch key {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e.name != "" {
				r.check(e)
				return e
			}
		}
	}
	r.t.Fatalf("the stream ended: %v", r.in.Err())
	return e
}

// check fails the test unless the data are just what the view of that name has.
func (r *reader) check(e event) {
	r.t.Helper()
	views := map[string]any{
		"hello": new(view.Hello), "change": new(reloader.Change), "reload": new(view.Reload), "workload": new(view.Workload),
		"workloadGone": new(view.WorkloadGone), "cluster": new(view.Cluster), "resync": new(view.Resync),
	}
	decoder := json.NewDecoder(strings.NewReader(e.data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(views[e.name]); err != nil || e.id == "" {
		r.t.Errorf("event %+v: %v", e, err)
	}
}

// names reads as many events and returns what they are called.
func (r *reader) names(n int) (names []string) {
	r.t.Helper()
	for range n {
		names = append(names, r.next().name)
	}
	return names
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
