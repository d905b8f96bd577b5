package api

import (
	"bufio"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// reader reads a stream of events.
type reader struct {
	t  testing.TB
	in *bufio.Scanner
}

func subscribe(t testing.TB, server *httptest.Server, query string) *reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/v1/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != eventStream {
		t.Fatalf("got %s %q", response.Status, response.Header.Get("Content-Type"))
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return &reader{t: t, in: bufio.NewScanner(response.Body)}
}

// next returns the data of the next event.
func (r *reader) next() string {
	r.t.Helper()
	for r.in.Scan() {
		if data, ok := strings.CutPrefix(r.in.Text(), "data: "); ok {
			return data
		}
	}
	r.t.Fatalf("the stream ended: %v", r.in.Err())
	return ""
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
