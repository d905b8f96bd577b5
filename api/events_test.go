package api

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/semaphore"

	"github.com/reroll-dev/reroll/api/clients"
	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
)

// written is what was written to a stream.
type written struct {
	http.ResponseWriter
	mu   sync.Mutex
	text strings.Builder
	err  error
}

func (w *written) FlushError() error { return nil }

func (w *written) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	return w.text.Write(data)
}

// take returns what was written since the last time, without the ends of lines.
func (w *written) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.ReplaceAll(strings.ReplaceAll(w.text.String(), "event: changed\ndata: ", ""), "\n\n", " ")
	w.text.Reset()
	return strings.TrimSpace(text)
}

const allChanged = `{"changed":["changes","reloads","workloads","clusters"]}`

// TestNudges: one at once, then one for all that comes within a second, and a sign of life while there is none.
func TestNudges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		records := projection.New(projection.Limits{})
		records.SetCaughtUp()
		watch := records.Watch(func(projection.Topic, string, string) bool { return true })
		ctx, end := context.WithCancel(t.Context())
		w, ended := &written{}, false
		go func() {
			nudge(ctx, w, watch)
			ended = true
		}()
		after := func(what string, wait time.Duration, want string) {
			t.Helper()
			<-time.After(wait)
			synctest.Wait()
			same(t, what, want, w.take())
		}
		after("at once", 0, allChanged)
		records.AddChange(1, aChange(1))
		after("within the first second", 900*time.Millisecond, "")
		after("then", 200*time.Millisecond, `{"changed":["changes"]}`)
		for n := range 1000 {
			records.AddReload(uint64(n), aReload(n))
			records.PutWorkload(aWorkload("shop", "cart"))
		}
		after("very much within the next", time.Second, `{"changed":["reloads","workloads"]}`)
		after("nothing for long", 8*time.Second, ": still here")
		records.PutCluster(aStatus())
		after("at once after a pause", 0, `{"changed":["clusters"]}`)
		end()
		after("after the end", time.Hour, "")
		if !ended {
			t.Error("it goes on")
		}
		w.err = errors.New("stuck")
		nudge(t.Context(), w, watch) // ends by itself for a reader that takes nothing
	})
}

func TestEventFilters(t *testing.T) {
	for query, want := range map[string]string{
		"":                                `{"changed":["changes","clusters","reloads","workloads"]}`,
		"?cluster=east":                   `{"changed":["changes"]}`,
		"?namespace=bank":                 `{"changed":["clusters","workloads"]}`,
		"?namespace=shop":                 `{"changed":["changes","clusters","reloads"]}`,
		"?cluster=east&namespace=nowhere": "",
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			r := subscribe(t, serve(t, f), query)
			same(t, "at first", allChanged, r.next())
			east := aChange(3)
			east.Cluster, east.ID = "east", "c-e"
			f.records.AddChange(1, aChange(1))
			f.records.AddChange(3, east)
			f.records.AddReload(1, aReload(1))
			f.records.PutCluster(aStatus())
			f.records.PutWorkload(aWorkload("bank", "till"))
			if want != "" {
				same(t, "what is let through", want, r.next())
			}
			f.records.Reset() // which every reader is told
			same(t, "after a reset", `{"changed":["changes","clusters","reloads","workloads"]}`, r.next())
		})
	}
}

func TestStreamsDoNotHoldUpTheEnd(t *testing.T) {
	server := serve(t, newFixture(t))
	r := subscribe(t, server, "")
	r.next()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := server.Config.Shutdown(ctx); err != nil {
		t.Errorf("a stream holds up the end: %v", err)
	}
	for r.in.Scan() {
		if r.in.Text() != "" {
			t.Errorf("the stream goes on: %s", r.in.Text())
		}
	}
}

func TestTooManyStreams(t *testing.T) {
	f := newFixture(t)
	a := &server{records: f.records, streams: semaphore.NewWeighted(0), streamsOf: clients.NewTurns(1)}
	_, err := a.streamEvents(t.Context(), &EventFilter{})
	if err == nil || !strings.Contains(err.Error(), "Too many streams") {
		t.Errorf("got %v", err)
	}
}

// stuck is a client that takes nothing: each write fails at its time limit.
type stuck struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (s *stuck) SetWriteDeadline(at time.Time) error { s.deadline = at; return nil }
func (s *stuck) FlushError() error                   { return nil }
func (s *stuck) Write([]byte) (int, error) {
	return 0, &net.OpError{Op: "write", Err: context.DeadlineExceeded}
}

func TestStuckReaderIsDropped(t *testing.T) {
	f := newFixture(t)
	client := &stuck{ResponseRecorder: httptest.NewRecorder()}
	f.handler.ServeHTTP(client, httptest.NewRequest("GET", "/api/v1/events", nil))
	if left := time.Until(client.deadline); left <= 0 || left > eventWriteTimeout {
		t.Errorf("a write may take %s", left)
	}
	f.records.DeleteWorkload("local", reloader.WorkloadRef{}) // nobody is there to be told
}

// serve serves f's handler as the program does.
func serve(t testing.TB, f *fixture) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config = HTTPServer(f.handler, slog.New(slog.DiscardHandler))
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
	must(t, err)
	response, err := server.Client().Do(r)
	must(t, err)
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
