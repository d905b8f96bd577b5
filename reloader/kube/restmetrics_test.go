package kube

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestRequestMetrics makes two requests and compares what every registry shows of them.
func TestRequestMetrics(t *testing.T) {
	first, second := prometheus.NewRegistry(), prometheus.NewRegistry()
	for _, r := range []*prometheus.Registry{first, second, second} {
		if err := RegisterRequestMetrics(r); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write([]byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"app"}}`))
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	maps := client.CoreV1().ConfigMaps("shop")
	if _, err := maps.Get(t.Context(), "app", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), "app", metav1.DeleteOptions{}); err == nil {
		t.Fatal("the request that is refused succeeds")
	}
	host := strings.TrimPrefix(server.URL, "http://")
	want := map[string]float64{
		"rest_client_requests_total code=200 host=" + host + " method=GET":    1,
		"rest_client_requests_total code=403 host=" + host + " method=DELETE": 1,
		"rest_client_request_duration_seconds host=" + host + " verb=GET":     1,
		"rest_client_request_duration_seconds host=" + host + " verb=DELETE":  1,
	}
	for _, r := range []*prometheus.Registry{first, second} {
		if diff := cmp.Diff(want, requestsTo(t, r, host)); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	}
}

// TestRequestMetricsTaken: somebody else's metric of the same name is an error, and no second meaning of the name.
func TestRequestMetricsTaken(t *testing.T) {
	r := prometheus.NewRegistry()
	r.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "rest_client_requests_total", Help: "Another."}))
	if err := RegisterRequestMetrics(r); err == nil {
		t.Error("a taken name is no error")
	}
}

// requestsTo returns the count of each series about a host.
func requestsTo(t *testing.T, r prometheus.Gatherer, host string) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var ours bool
			name := f.GetName()
			for _, l := range m.GetLabel() {
				ours = ours || l.GetName() == "host" && l.GetValue() == host
				name += " " + l.GetName() + "=" + l.GetValue()
			}
			switch {
			case !ours:
			case f.GetType() == dto.MetricType_COUNTER:
				counts[name] = m.GetCounter().GetValue()
			case f.GetType() == dto.MetricType_HISTOGRAM:
				counts[name] = float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return counts
}
