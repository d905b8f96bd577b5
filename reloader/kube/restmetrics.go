package kube

import (
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/metrics"
)

// RegisterRequestMetrics registers at r how many requests this process makes to API servers, and how long they take, under the names that
// Stakater Reloader uses. The first call must come before the first Connect. Further calls, also with the same r, register the same.
func RegisterRequestMetrics(r prometheus.Registerer) {
	m := measureRequests()
	_, _ = r.Register(m.requests), r.Register(m.seconds) // they fail only if they are registered already
}

// requestMetrics counts what client-go reports of requests.
type requestMetrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// measureRequests returns the metrics of this process. client-go takes one adapter only, and only once.
var measureRequests = sync.OnceValue(func() *requestMetrics {
	m := &requestMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rest_client_requests_total", Help: "Requests to the API server, by status code, method and host.",
		}, []string{"code", "method", "host"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rest_client_request_duration_seconds", Help: "Time that requests to the API server took, by method and host.",
			Buckets: []float64{.001, .01, .05, .1, .5, 1, 5, 10, 30},
		}, []string{"verb", "host"}),
	}
	metrics.Register(metrics.RegisterOpts{RequestResult: m, RequestLatency: m})
	return m
})

// Increment counts a request that was answered.
func (m *requestMetrics) Increment(_ context.Context, code, method, host string) {
	m.requests.WithLabelValues(code, method, host).Inc()
}

// Observe measures a request. Of its address only the host becomes a label: the path names objects.
func (m *requestMetrics) Observe(_ context.Context, verb string, u url.URL, took time.Duration) {
	m.seconds.WithLabelValues(verb, u.Host).Observe(took.Seconds())
}
