package webhook

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reroll-dev/reroll/ingest/audit"
	"github.com/reroll-dev/reroll/reloader"
)

func TestAcceptedBodyIsStored(t *testing.T) {
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			stored := &sink{}
			r := start(t, func(_ *rig, o *Options) { o.Sink = stored })
			got := r.must(r.client(h2), r.request(strings.NewReader(body), nil))
			if got.code != http.StatusNoContent || (got.proto == 2) != h2 {
				t.Fatalf("got %d over HTTP/%d, want 204", got.code, got.proto)
			}
			want := []reloader.Hint{{
				Cluster: "prod", Config: reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "db"}, Verb: reloader.VerbUpdate,
				Source: reloader.SourceAudit, Actor: reloader.Actor{User: "ana"}, AuditID: "a-1", Code: 200,
				Time: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
			}}
			if diff := cmp.Diff(want, stored.hints, cmpopts.IgnoreFields(reloader.Hint{}, "Received")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for metric, want := range map[string]float64{
				"reroll_ingest_requests_total": 1, "reroll_ingest_events_total": 2, "reroll_ingest_hints_total": 1,
				"reroll_ingest_put_duration_seconds": 1, "reroll_ingest_body_bytes": 1, "reroll_ingest_requests_in_flight": 0,
			} {
				if got := r.metric(metric); got != want {
					t.Errorf("%s is %v, want %v", metric, got, want)
				}
			}
			if r.metric("reroll_ingest_events_total", string(audit.SkipNoEvent)) != 1 {
				t.Error("the skipped event is not counted by its reason")
			}
		})
	}
}

// TestRoutesAreDocumented: Sources names the path of each route.
func TestRoutesAreDocumented(t *testing.T) {
	for _, to := range routes {
		if !slices.ContainsFunc(reloader.Sources, func(i reloader.SourceInfo) bool {
			return i.Source == to.source && strings.Contains(i.Says, "`"+to.path+"`")
		}) {
			t.Errorf("reloader.Sources does not say that %s posts to %s", to.source, to.path)
		}
	}
}

func TestRefusals(t *testing.T) {
	header := func(key, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(key, value) }
	}
	path := func(p string) func(*http.Request) { return func(r *http.Request) { r.URL.Path = p } }
	cases := map[string]struct {
		body   string
		change func(*http.Request)
		code   int
		says   string
	}{
		"GET":                  {body, func(r *http.Request) { r.Method, r.Body, r.ContentLength = "GET", nil, 0 }, 405, "POST"},
		"OPTIONS":              {body, func(r *http.Request) { r.Method = "OPTIONS" }, 405, "POST"},
		"root":                 {body, path("/"), 404, "/v1/audit/CLUSTER"},
		"doubled slash":        {body, path("//v1/audit/prod"), 404, "/v1/audit/CLUSTER"},
		"path to be cleaned":   {body, path("/v1/x/../audit/prod"), 404, "/v1/audit/CLUSTER"},
		"bad cluster":          {body, path("/v1/audit/Prod*"), 404, "DNS-1123"},
		"slash in the cluster": {body, func(r *http.Request) { r.URL.RawPath, r.URL.Path = "/v1/audit/a%2Fb", "/v1/audit/a/b" }, 404, "DNS-1123"},
		"no credentials":       {body, func(r *http.Request) { r.Header.Del("Authorization") }, 401, "kubeconfig"},
		"wrong token":          {body, header("Authorization", "Bearer "+secretToken+"x"), 401, "kubeconfig"},
		"other scheme":         {body, header("Authorization", "Basic "+secretToken), 401, "kubeconfig"},
		"other cluster":        {body, path("/v1/audit/test"), 403, "cluster test"},
		"no content type":      {body, func(r *http.Request) { r.Header.Del("Content-Type") }, 415, "application/json"},
		"other content type":   {body, header("Content-Type", "application/x-ndjson"), 415, "application/json"},
		"compressed":           {body, header("Content-Encoding", "gzip"), 415, "Content-Encoding"},
		"other version":        {strings.Replace(body, "k8s.io/v1", "k8s.io/v1beta1", 1), nil, 400, "--audit-webhook-version"},
		"too many events":      {strings.Replace(body, "{}]", "{},{},{}]", 1), nil, 413, "--audit-webhook-batch-max-size"},
		"too many configs":     {eventList(logLine, strings.Replace(logLine, "db", "a", 1), strings.Replace(logLine, "db", "b", 1)), nil, 413, "--audit-webhook-batch-max-size"},
		"too long":             {body + strings.Repeat(" ", 1100), nil, 413, "--audit-webhook-truncate-enabled"},
	}
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			stored := &sink{}
			r := start(t, func(_ *rig, o *Options) {
				o.Sink, o.Limits.BodyBytes, o.Limits.Decode.MaxItems, o.Limits.Decode.MaxHints = stored, 1100, 3, 2
			})
			client := r.client(h2)
			for name, c := range cases {
				t.Run(name, func(t *testing.T) {
					before := r.metric("reroll_ingest_requests_total", strconv.Itoa(c.code))
					got := r.must(client, r.request(strings.NewReader(c.body), c.change))
					if got.code != c.code || int(got.status.Code) != c.code || got.status.Status != "Failure" || got.status.Kind != "Status" {
						t.Fatalf("got %d with %+v, want %d", got.code, got.status, c.code)
					}
					if !strings.Contains(got.status.Message, c.says) || strings.Contains(got.status.Message, secretToken) {
						t.Errorf("message %q, want one with %q", got.status.Message, c.says)
					}
					if got.header.Get("Location") != "" || got.header.Get("Content-Type") != "application/json" {
						t.Errorf("header %v", got.header)
					}
					if n := r.metric("reroll_ingest_requests_total", strconv.Itoa(c.code)); n != before+1 {
						t.Errorf("counted %v, want %v", n, before+1)
					}
				})
			}
			if stored.count() != 0 {
				t.Errorf("stored %v", stored.hints)
			}
			if strings.Contains(r.log.String(), secretToken) {
				t.Error("a token is in the log")
			}
		})
	}
}

func TestChunkedBodyIsTakenUpToTheLimit(t *testing.T) {
	r := start(t, func(_ *rig, o *Options) { o.Limits.BodyBytes = int64(len(body)) })
	client := r.client(false)
	for text, want := range map[string]int{body: http.StatusNoContent, body + " ": http.StatusRequestEntityTooLarge} {
		chunked := struct{ io.Reader }{strings.NewReader(text)}
		if got := r.must(client, r.request(chunked, nil)); got.code != want {
			t.Errorf("%d bytes in chunks: got %d, want %d", len(text), got.code, want)
		}
	}
}

// TestBodyIsNotReadBeforeItsSenderIsKnown: of what is refused by its head nothing is read, and what stops arriving is not stored.
func TestBodyIsNotReadBeforeItsSenderIsKnown(t *testing.T) {
	stored := &sink{}
	r := start(t, func(_ *rig, o *Options) { o.Sink, o.Limits.BodyBytes = stored, 1000 })
	stops := func(err error) io.Reader { return io.MultiReader(strings.NewReader(body), iotest.ErrReader(err)) }
	for name, c := range map[string]struct {
		content io.Reader // nil must not be read
		change  func(*http.Request)
		want    int
	}{
		"unknown":              {nil, func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"another cluster":      {nil, func(r *http.Request) { r.URL.Path = "/v1/audit/test" }, 403},
		"wrong type":           {nil, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		"too long":             {nil, func(r *http.Request) { r.ContentLength = 1001 }, 413},
		"no more in time":      {stops(os.ErrDeadlineExceeded), func(*http.Request) {}, 408},
		"the connection ended": {stops(io.ErrUnexpectedEOF), func(*http.Request) {}, 400},
	} {
		read := false
		content := readerFunc(func(p []byte) (int, error) {
			read = true
			if c.content == nil {
				return 0, io.ErrUnexpectedEOF
			}
			return c.content.Read(p)
		})
		w := httptest.NewRecorder()
		r.server.handler.ServeHTTP(w, r.request(content, func(r *http.Request) {
			r.ContentLength = -1
			c.change(r)
		}))
		if w.Code != c.want || read != (c.content != nil) || !read && w.Header().Get("Connection") != "close" || stored.count() > 0 {
			t.Errorf("%s: got %d with %v, read: %t, stored: %d; want %d and a closed connection", name, w.Code, w.Header(), read, stored.count(), c.want)
		}
	}
}

func TestSinkThatFails(t *testing.T) {
	stored := &sink{err: errors.New("disk full")}
	r := start(t, func(_ *rig, o *Options) { o.Sink = stored })
	got := r.must(r.client(true), r.request(strings.NewReader(body), nil))
	checkBusy(t, got)
	if strings.Contains(got.status.Message, "disk full") || !strings.Contains(r.log.String(), "disk full") {
		t.Errorf("the cause belongs into the log alone; message %q", got.status.Message)
	}
	if r.metric("reroll_ingest_hints_total") != 0 || r.metric("reroll_ingest_events_total") != 0 {
		t.Error("a refused body is counted as accepted")
	}
	irrelevant := `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{}]}`
	if got := r.must(r.client(true), r.request(strings.NewReader(irrelevant), nil)); got.code != http.StatusNoContent {
		t.Errorf("what needs no sink: got %d, want 204", got.code)
	}
	stored.err = nil
	if got := r.must(r.client(true), r.request(strings.NewReader(body), nil)); got.code != http.StatusNoContent || stored.count() != 1 {
		t.Errorf("once the sink works: got %d, %d hints", got.code, stored.count())
	}
}

func checkBusy(t *testing.T, got answer) {
	t.Helper()
	after, err := strconv.Atoi(got.header.Get("Retry-After"))
	if got.code != http.StatusServiceUnavailable || err != nil || after < 2 || after > 4 {
		t.Errorf("got %d with Retry-After %q, want 503 with 2 to 4", got.code, got.header.Get("Retry-After"))
	}
}

func TestClustersThatAreNotServed(t *testing.T) {
	r := start(t, func(_ *rig, o *Options) { o.Clusters = []string{"local"} })
	if got := r.must(r.client(true), r.request(strings.NewReader(body), nil)); got.code != http.StatusForbidden {
		t.Errorf("got %d, want 403", got.code)
	}
}

func TestRefusalsDoNotFloodTheLog(t *testing.T) {
	r := start(t, nil)
	for range 500 {
		w := httptest.NewRecorder()
		r.server.handler.ServeHTTP(w, r.request(bytes.NewReader(nil), func(r *http.Request) { r.Header.Del("Authorization") }))
	}
	if n := strings.Count(r.log.String(), "audit request refused"); n < 1 || n > 3*serverLogAtOnce {
		t.Errorf("%d lines for 500 refusals", n)
	}
}
