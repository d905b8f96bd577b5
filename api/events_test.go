package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/reroll-dev/reroll/api/clients"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

func TestEventsAreTheViewsOfTheListings(t *testing.T) {
	f := newFixture(t)
	r := subscribe(t, serve(t, f), "", "")
	same(t, "at first", []string{"hello"}, r.names(1))
	f.populate()
	f.records.DeleteWorkload("local", reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "cart"})
	events := map[string]event{}
	var names []string
	for range 10 {
		e := r.next()
		events[e.name] = e
		names = append(names, e.name)
	}
	same(t, "in order", []string{"change", "reload", "change", "reload", "change", "reload", "change", "workload", "cluster", "workloadGone"}, names)
	var reload view.Reload
	if err := json.Unmarshal([]byte(events["reload"].data), &reload); err != nil {
		t.Fatal(err)
	}
	same(t, "the reload as it is listed", list[view.Reload](t, f, "/api/v1/reloads?limit=1").Items[0], reload)
	if strings.Contains(fmt.Sprint(events), "planted-mark") || strings.Contains(fmt.Sprint(events), "per-key-fingerprint") {
		t.Error("an event shows what no answer may show")
	}
}

func TestEventsResume(t *testing.T) {
	f := newFixture(t)
	server := serve(t, f)
	r := subscribe(t, server, "", "")
	hello := r.next()
	f.records.AddChange(1, aChange(1))
	f.records.AddReload(1, aReload(1))
	seen := r.next()
	r.body.Close()
	f.records.AddChange(2, aChange(2))

	r = subscribe(t, server, "", seen.id)
	same(t, "after the change that was seen", []string{"hello", "reload", "change"}, r.names(3))
	r = subscribe(t, server, "", hello.id)
	same(t, "after the first word of a stream", []string{"hello", "change", "reload", "change"}, r.names(4))
	for id, want := range map[string]string{"other-1": "Restarted", "rubbish": "Restarted", f.records.Incarnation() + "-99": "Expired"} {
		r = subscribe(t, server, "", id)
		if first, second := r.next(), r.next(); first.name != "hello" || second.data != `{"reason":"`+want+`"}` {
			t.Errorf("Last-Event-ID %s: %+v, %+v; want %s", id, first, second, want)
		}
		f.records.AddChange(f.records.LastEvent()+10, aChange(int(f.records.LastEvent())+10))
		same(t, "goes on with what is new", "change", r.next().name)
	}
}

func TestEventsBeyondTheFeedAreResynced(t *testing.T) {
	f := newFixture(t)
	server := serve(t, f)
	first := subscribe(t, server, "", "").next()
	for n := 1; n <= 5000; n++ {
		f.records.AddReload(uint64(n), aReload(n))
	}
	r := subscribe(t, server, "", first.id)
	if _, second := r.next(), r.next(); second.data != `{"reason":"Expired"}` {
		t.Errorf("got %+v", second)
	}
}

func TestEventFilters(t *testing.T) {
	cases := map[string]struct {
		query string
		want  []string
	}{
		"types":          {"?types=reload,cluster", []string{"reload", "cluster"}},
		"cluster":        {"?cluster=east", []string{"change"}},
		"namespace":      {"?namespace=bank", []string{"cluster", "workload"}},
		"with baselines": {"?types=change&includeBaselines=true", []string{"change", "change", "change"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			r := subscribe(t, serve(t, f), tc.query, "")
			r.next()
			baseline, east := aChange(2), aChange(3)
			baseline.Type, baseline.ID, east.Cluster, east.ID = reloader.ChangeBaseline, "c-b", "east", "c-e"
			f.records.AddChange(1, aChange(1))
			f.records.AddChange(2, baseline)
			f.records.AddChange(3, east)
			f.records.AddReload(1, aReload(1))
			f.records.PutCluster(aStatus())
			f.records.PutWorkload(aWorkload("bank", "till"))
			same(t, "what is let through", tc.want, r.names(len(tc.want)))
			f.records.Reset() // which every reader is told
			same(t, "after a reset", []string{"resync"}, r.names(1))
		})
	}
}

func TestEventsRefuseUnknownTypes(t *testing.T) {
	f := newFixture(t)
	for query, code := range map[string]int{"?types=chnage": 422, "?types=change&types=reload": 400, "?limit=1": 422} {
		if w := f.get(t, "/api/v1/events"+query); w.Code != code {
			t.Errorf("%s: got %d, want %d", query, w.Code, code)
		}
	}
}

func TestHeadOfEventsEnds(t *testing.T) {
	server := serve(t, newFixture(t))
	response, err := server.Client().Head(server.URL + "/api/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != eventStream {
		t.Errorf("got %s", response.Status)
	}
}

func TestStreamsDoNotHoldUpTheEnd(t *testing.T) {
	f := newFixture(t)
	server := serve(t, f)
	r := subscribe(t, server, "", "")
	r.next()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := server.Config.Shutdown(ctx); err != nil {
		t.Errorf("a stream holds up the end: %v", err)
	}
	if r.in.Scan() {
		t.Errorf("the stream goes on: %s", r.in.Text())
	}
}

func TestTooManyStreams(t *testing.T) {
	f := newFixture(t)
	a := &server{records: f.records, streams: semaphore.NewWeighted(0), streamsOf: clients.NewTurns(1)}
	_, err := a.streamEvents(t.Context(), &streamEventsInput{})
	if err == nil || !strings.Contains(err.Error(), "Too many streams") {
		t.Errorf("got %v", err)
	}
}

// slow is a client that takes what is written when the test does, and nothing any more once stuck is closed.
type slow struct {
	*httptest.ResponseRecorder
	taken    chan string
	stuck    chan struct{}
	deadline time.Time
}

func (s *slow) SetWriteDeadline(at time.Time) error { s.deadline = at; return nil }
func (s *slow) FlushError() error                   { return nil }

func (s *slow) Write(data []byte) (int, error) {
	select {
	case s.taken <- string(data):
		return len(data), nil
	case <-s.stuck:
		return 0, &net.OpError{Op: "write", Err: context.DeadlineExceeded}
	}
}

func TestSlowReaderIsResyncedAndStuckOneDropped(t *testing.T) {
	f := newFixture(t)
	client := &slow{ResponseRecorder: httptest.NewRecorder(), taken: make(chan string), stuck: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.handler.ServeHTTP(client, httptest.NewRequest("GET", "/api/v1/events", nil))
	}()
	<-client.taken // hello
	for n := 1; n <= 10_000; n++ {
		f.records.AddReload(uint64(n), aReload(n))
	}
	told := false
	for range eventsAtOnce + 1 {
		if told = strings.Contains(<-client.taken, `{"reason":"Lagged"}`); told {
			break
		}
	}
	if !told {
		t.Error("the reader was not told that events are missing")
	}
	close(client.stuck)
	f.records.AddReload(10_001, aReload(10_001))
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a client that takes nothing is kept")
	}
	if left := time.Until(client.deadline); left <= 0 || left > eventWriteTimeout {
		t.Errorf("a write may take %s", left)
	}
}

func TestEventWriterWritesWhatReadersParse(t *testing.T) {
	var out bytes.Buffer
	w := newEventWriter(&out)
	if err := w.event("a-1", "change", render(map[string]string{"text": "two\nlines"})); err != nil {
		t.Fatal(err)
	}
	if err := w.comment("still here"); err != nil {
		t.Fatal(err)
	}
	same(t, "bytes", "id: a-1\nevent: change\ndata: {\"text\":\"two\\nlines\"}\n\n: still here\n\n", out.String())
}
