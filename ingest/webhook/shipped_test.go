package webhook

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reroll-dev/reroll/reloader"
)

// logLine is a line of an audit log with one event that matters.
const logLine = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","auditID":"a-1","requestURI":"/","verb":"update",` +
	`"user":{"username":"ana"},"objectRef":{"resource":"secrets","namespace":"shop","name":"db","apiVersion":"v1"},` +
	`"responseStatus":{"code":200},"stageTimestamp":"2026-11-21T12:00:00.000000Z"}` + "\n"

// shipped makes a request one to the shipped route.
func shipped(change func(*http.Request)) func(*http.Request) {
	return func(r *http.Request) {
		r.URL.Path, r.URL.RawQuery = "/v1/shipped/prod", ""
		if change != nil {
			change(r)
		}
	}
}

func header(key, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(key, value) }
}

func compressed(text string, with func(io.Writer) io.WriteCloser) string {
	var b bytes.Buffer
	w := with(&b)
	_, _ = io.WriteString(w, text) // into memory, which cannot fail
	_ = w.Close()
	return b.String()
}

func gzipped(w io.Writer) io.WriteCloser  { return gzip.NewWriter(w) }
func deflated(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }

func TestShippedBodyIsStored(t *testing.T) {
	cases := map[string]struct {
		body   string
		change func(*http.Request)
	}{
		"line":                 {logLine, header("Content-Type", "application/x-ndjson")},
		"with a character set": {"[" + logLine + "]", header("Content-Type", "application/json; charset=utf-8")},
		"gzip":                 {compressed(logLine, gzipped), header("Content-Encoding", "gzip")},
		"deflate":              {compressed(logLine, deflated), header("Content-Encoding", "deflate")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			stored := &sink{}
			r := start(t, func(_ *rig, o *Options) { o.Sink = stored })
			if got := r.must(r.client(true), r.request(strings.NewReader(c.body), shipped(c.change))); got.code != http.StatusNoContent {
				t.Fatalf("got %d %q, want 204", got.code, got.status.Message)
			}
			want := []reloader.Hint{{
				Cluster: "prod", Config: reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "db"}, Verb: reloader.VerbUpdate,
				Source: reloader.SourceShipped, Actor: reloader.Actor{User: "ana"}, AuditID: "a-1", Code: 200,
				Time: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
			}}
			if diff := cmp.Diff(want, stored.hints, cmpopts.IgnoreFields(reloader.Hint{}, "Received")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestShippedRefusals(t *testing.T) {
	path := func(p string) func(*http.Request) { return func(r *http.Request) { r.URL.Path = p } }
	bomb := compressed(strings.Repeat(" ", 10_000), gzipped)
	cases := map[string]struct {
		body   string
		change func(*http.Request)
		code   int
		says   string
	}{
		"GET":               {logLine, func(r *http.Request) { r.Method, r.Body, r.ContentLength = "GET", nil, 0 }, 405, "POST"},
		"wrong access key":  {logLine, header(accessKey, "wrong"), 401, "bearer token"},
		"other cluster":     {logLine, path("/v1/shipped/test"), 403, "cluster test"},
		"MessagePack":       {logLine, header("Content-Type", "application/msgpack"), 415, "application/x-ndjson"},
		"other encoding":    {logLine, header("Content-Encoding", "br"), 415, "gzip, deflate"},
		"several encodings": {logLine, header("Content-Encoding", "gzip, gzip"), 415, "gzip, deflate"},
		"not compressed":    {logLine, header("Content-Encoding", "gzip"), 400, "could not be read"},
		"compressed, cut":   {compressed(logLine, gzipped)[:60], header("Content-Encoding", "gzip"), 400, "could not be read"},
		"no JSON":           {"hello\n", nil, 400, "not valid JSON"},
		"bomb":              {bomb, header("Content-Encoding", "gzip"), 413, "longer than 5000"},
		"too long":          {logLine + strings.Repeat(" ", 2000), nil, 413, "smaller requests"},
		"too many events":   {"[{},{},{},{}]", nil, 413, "smaller requests"},
	}
	stored := &sink{}
	r := start(t, func(_ *rig, o *Options) {
		o.Sink, o.Limits.BodyBytes, o.Limits.InflatedBytes, o.Limits.Decode.MaxItems = stored, 1000, 5000, 3
	})
	client := r.client(true)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := r.must(client, r.request(strings.NewReader(c.body), shipped(c.change)))
			if got.code != c.code || !strings.Contains(got.status.Message, c.says) || strings.Contains(got.status.Message, secretToken) {
				t.Errorf("got %d %q, want %d with %q", got.code, got.status.Message, c.code, c.says)
			}
		})
	}
	if stored.count() != 0 {
		t.Errorf("stored %v", stored.hints)
	}
}

// TestShippersKeepNoAPIServerWaiting fills the shipped route with a body that does not end.
func TestShippersKeepNoAPIServerWaiting(t *testing.T) {
	r := start(t, nil)
	content, end := io.Pipe()
	first := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.server.handler.ServeHTTP(first, r.request(content, shipped(func(r *http.Request) { r.ContentLength = -1 })))
	}()
	// The write ends when the handler reads it; the handler has then taken the only place.
	if _, err := io.WriteString(end, logLine); err != nil {
		t.Fatal(err)
	}
	client := r.client(true)
	checkBusy(t, r.must(client, r.request(strings.NewReader(logLine), shipped(nil))))
	if got := r.must(client, r.request(strings.NewReader(body), nil)); got.code != http.StatusNoContent {
		t.Errorf("an API server got %d", got.code)
	}
	if err := end.Close(); err != nil {
		t.Fatal(err)
	}
	if <-done; first.Code != http.StatusNoContent {
		t.Errorf("the first got %d", first.Code)
	}
}

func TestFirehoseIsAnsweredAsItAsks(t *testing.T) {
	message, err := json.Marshal(logLine)
	if err != nil {
		t.Fatal(err)
	}
	batch := compressed(fmt.Sprintf(`{"messageType":"DATA_MESSAGE","logEvents":[{"id":"1","timestamp":1,"message":%s}]}`, message), gzipped)
	request := fmt.Sprintf(`{"requestId":"ed4acda5-034f-9f42-bba1-f29aea6d7d8f","timestamp":1,"records":[{"data":%q}]}`,
		base64.StdEncoding.EncodeToString([]byte(batch)))
	now := time.Date(2026, 11, 21, 12, 0, 0, 123e6, time.UTC)
	cases := map[string]struct {
		body   string
		sink   *sink
		change func(*http.Request)
		code   int
		says   string
		hints  int
	}{
		"stored":      {request, &sink{}, nil, 200, "", 1},
		"compressed":  {compressed(request, gzipped), &sink{}, header("Content-Encoding", "gzip"), 200, "", 1},
		"not stored":  {request, &sink{err: errors.New("disk full")}, nil, 503, "send the batch again", 0},
		"unknown":     {request, &sink{}, header(accessKey, "another"), 401, "bearer token", 0},
		"not allowed": {request, &sink{}, func(r *http.Request) { r.URL.Path = "/v1/shipped/test" }, 403, "cluster test", 0},
		"no JSON":     {"x", &sink{}, nil, 400, "not valid JSON", 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := start(t, func(_ *rig, o *Options) {
				o.Sink, o.Now, o.InsecureHTTP, o.Address = c.sink, func() time.Time { return now }, true, "127.0.0.1:0"
				o.Certificate, o.ClientCAs = nil, nil
			})
			w := httptest.NewRecorder()
			r.server.handler.ServeHTTP(w, r.request(strings.NewReader(c.body), shipped(func(r *http.Request) {
				r.Header.Del("Authorization")
				r.Header.Set(accessKey, secretToken)
				r.Header.Set(requestID, "ed4acda5-034f-9f42-bba1-f29aea6d7d8f")
				r.Header.Set("X-Amz-Firehose-Protocol-Version", "1.0")
				if c.change != nil {
					c.change(r)
				}
			})))
			var got firehoseAnswer
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatalf("%q: %v", w.Body, err)
			}
			if w.Code != c.code || w.Header().Get("Content-Type") != "application/json" || c.sink.count() != c.hints {
				t.Errorf("got %d, %v, %d hints; want %d and %d", w.Code, w.Header(), c.sink.count(), c.code, c.hints)
			}
			if got.RequestID != "ed4acda5-034f-9f42-bba1-f29aea6d7d8f" || got.Timestamp != now.UnixMilli() ||
				!strings.Contains(got.ErrorMessage, c.says) || (got.ErrorMessage == "") != (c.code == 200) {
				t.Errorf("answer %+v, want an error with %q", got, c.says)
			}
		})
	}
}
