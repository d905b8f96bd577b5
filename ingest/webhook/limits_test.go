package webhook

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

func eventList(items ...string) string {
	return `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[` + strings.Join(items, ",") + "]}\n"
}

// TestHostileInput posts what anyone with an account can bring into a request, twice. Package audit tests what becomes of it; here nothing of it
// reaches the log, and the good event next to it is stored.
func TestHostileInput(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	good := strings.TrimSpace(logLine)
	replaced := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	for name, bad := range map[string]string{
		"nesting":                    strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
		"control characters in name": replaced(`"db"`, `"xxxxxxxx\u001b\n"`),
		"name of 1 MB":               replaced(`"db"`, `"`+long+`"`),
		"replay with a long ID":      replaced(`"a-1"`, `"`+long+`\u001b[2J"`),
	} {
		t.Run(name, func(t *testing.T) {
			stored := &sink{}
			r := start(t, func(_ *rig, o *Options) { o.Sink = stored })
			client := r.client(true)
			for round := 1; round <= 2; round++ {
				got := r.must(client, r.request(strings.NewReader(eventList(bad, good)), nil))
				if got.code != http.StatusNoContent || stored.count() != round {
					t.Fatalf("round %d: got %d %q and %d hints", round, got.code, got.status.Message, stored.count())
				}
			}
			if strings.Contains(r.log.String(), "xxxxxxxx") || strings.Contains(r.log.String(), "\x1b") {
				t.Error("the log repeats what was posted")
			}
		})
	}
}

// TestBytesAtOnceAreBounded holds one body, and posts others next to it.
func TestBytesAtOnceAreBounded(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	first := true
	r := start(t, func(_ *rig, o *Options) {
		o.Limits.BodyBytes = int64(2 * len(body))
		o.Sink = ingest.SinkFunc(func(context.Context, []reloader.Hint) error {
			if first {
				first = false
				close(entered)
				<-release
			}
			return nil
		})
	})
	client := r.client(true)
	answers := make(chan answer, 1)
	held := r.request(strings.NewReader(body+" "), nil)
	go func() {
		got, err := r.do(client, held)
		if err != nil {
			t.Error(err)
		}
		answers <- got
	}()
	<-entered
	checkBusy(t, r.must(client, r.request(strings.NewReader(body), nil)))
	checkBusy(t, r.must(client, r.request(readerFunc(strings.NewReader(body).Read), nil)))
	if got := r.must(client, r.request(strings.NewReader(strings.TrimSpace(body)[:20]), nil)); got.code != http.StatusBadRequest {
		t.Errorf("a short body got %d; there is room for it", got.code)
	}
	close(release)
	if got := <-answers; got.code != http.StatusNoContent {
		t.Errorf("the first got %d", got.code)
	}
	if got := r.must(client, r.request(readerFunc(strings.NewReader(body).Read), nil)); got.code != http.StatusNoContent {
		t.Errorf("when it is over: got %d", got.code)
	}
	if n := r.metric("reroll_ingest_requests_total", fmt.Sprint(http.StatusServiceUnavailable)); n != 2 {
		t.Errorf("%v refusals are counted, want 2", n)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestSenderThatHasGoneEndsTheStoring: ingest does not wait for its sink once the sender has gone.
func TestSenderThatHasGoneEndsTheStoring(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	r := start(t, func(_ *rig, o *Options) {
		o.Sink = ingest.SinkFunc(func(ctx context.Context, _ []reloader.Hint) error {
			leave()
			<-ctx.Done()
			return ctx.Err()
		})
	})
	began := time.Now()
	r.server.handler.ServeHTTP(httptest.NewRecorder(), r.request(strings.NewReader(body), nil).WithContext(ctx))
	if took := time.Since(began); took >= budget {
		t.Errorf("the storing went on for %s", took)
	}
}

// perCluster are the metrics with the label cluster.
var perCluster = []string{
	"reroll_ingest_requests_total", "reroll_ingest_events_total", "reroll_ingest_hints_total", "reroll_ingest_request_duration_seconds",
	"reroll_ingest_event_age_seconds", "reroll_ingest_last_event_timestamp_seconds",
}

// TestMetricsNameTheCluster that a sender is authorized for, and never one that a request only names.
func TestMetricsNameTheCluster(t *testing.T) {
	r := start(t, nil)
	client := r.client(true)
	for _, path := range []string{"/v1/audit/prod", "/v1/audit/elsewhere", "/v1/audit/Prod*", "/v1/other"} {
		r.must(client, r.request(strings.NewReader(body), func(r *http.Request) { r.URL.Path = path }))
	}
	r.must(client, r.request(strings.NewReader("null"), nil))
	for _, name := range perCluster {
		if r.metric(name, "prod") == 0 || r.metric(name, "elsewhere") != 0 {
			t.Errorf("%s: %v of prod, %v of elsewhere", name, r.metric(name, "prod"), r.metric(name, "elsewhere"))
		}
	}
	if known, strange := r.metric("reroll_ingest_requests_total", "prod"), r.metric("reroll_ingest_requests_total", ""); known != 2 || strange != 3 {
		t.Errorf("%v requests of prod and %v of strangers, want 2 and 3", known, strange)
	}
}

// TestClustersInMetricsAreBounded: over plain HTTP anyone on the machine can name clusters as they like.
func TestClustersInMetricsAreBounded(t *testing.T) {
	r := start(t, func(_ *rig, o *Options) {
		*o = Options{Address: "127.0.0.1:0", InsecureHTTP: true, Sink: o.Sink, Registerer: o.Registerer}
	})
	client := r.client(false)
	for i := range maxClusters + 3 {
		got := r.must(client, r.request(strings.NewReader(body), func(r *http.Request) { r.URL.Path = fmt.Sprintf("/v1/audit/c%d", i) }))
		if got.code != http.StatusNoContent {
			t.Fatalf("cluster %d: %d", i, got.code)
		}
	}
	if n := len(r.series("reroll_ingest_hints_total")); n != maxClusters+1 {
		t.Errorf("%d clusters have a series, want %d and one for those beyond", n, maxClusters)
	}
	if beyond := r.metric("reroll_ingest_hints_total", ""); beyond != 3 {
		t.Errorf("%v hints of clusters beyond, want 3", beyond)
	}
}

// series returns the series of a metric, those with a label value if one is given.
func (r *rig) series(name string, value ...string) (found []*dto.Metric) {
	r.t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			has := func(l *dto.LabelPair) bool { return l.GetValue() == value[0] }
			if f.GetName() == name && (len(value) == 0 || slices.ContainsFunc(m.GetLabel(), has)) {
				found = append(found, m)
			}
		}
	}
	return found
}
