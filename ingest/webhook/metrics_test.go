package webhook

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

// perCluster are the metrics with the label cluster.
var perCluster = []string{
	"reroll_ingest_requests_total", "reroll_ingest_events_total", "reroll_ingest_hints_total", "reroll_ingest_request_duration_seconds",
	"reroll_ingest_event_age_seconds", "reroll_ingest_last_event_timestamp_seconds",
}

// TestMetricsNameTheCluster that a sender speaks for, and none that somebody only asks for.
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
			if f.GetName() == name && labelled(m, value) {
				found = append(found, m)
			}
		}
	}
	return found
}

// labelled reports whether a series has the label value, if one is given.
func labelled(m *dto.Metric, value []string) bool {
	for _, l := range m.GetLabel() {
		if len(value) > 0 && l.GetValue() == value[0] {
			return true
		}
	}
	return len(value) == 0
}
