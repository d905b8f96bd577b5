package api

import (
	"cmp"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics counts and times requests by the pattern of their route, so that no client can make up label values.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	denied   *prometheus.CounterVec
	streams  prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) *metrics {
	to := promauto.With(r)
	m := &metrics{
		requests: to.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_api_requests_total",
			Help: "Requests to the API, by the pattern of their route and the status of the answer.",
		}, []string{"route", "code"}),
		duration: to.NewHistogramVec(prometheus.HistogramOpts{
			Name:                            "reroll_api_request_duration_seconds",
			Help:                            "How long requests to the API took, by the pattern of their route.",
			Buckets:                         []float64{.001, .005, .025, .1, .5, 2.5},
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"route"}),
		denied:  to.NewCounterVec(prometheus.CounterOpts{Name: "reroll_api_denied_total", Help: deniedHelp}, []string{"reason"}),
		streams: to.NewGauge(prometheus.GaugeOpts{Name: "reroll_api_streams", Help: "Streams of events that are open."}),
	}
	for _, reason := range deniedReasons {
		m.denied.WithLabelValues(reason)
	}
	return m
}

// observe counts, times and logs every request.
func observe(m *metrics, logger *slog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			start := time.Now()
			answer := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
			defer func() { // Also when the connection is cut by a panic.
				m.record(r, answer, time.Since(start), logger)
			}()
			next.ServeHTTP(answer, r)
		})
	}
}

func (m *metrics) record(r *http.Request, answer middleware.WrapResponseWriter, took time.Duration, logger *slog.Logger) {
	route, code := routeOf(r), cmp.Or(answer.Status(), http.StatusOK) // a handler that wrote no status meant 200
	m.requests.WithLabelValues(route, strconv.Itoa(code)).Inc()
	m.duration.WithLabelValues(route).Observe(took.Seconds())
	logger.DebugContext(r.Context(), "request served", "method", r.Method, "route", route, "path", r.URL.Path,
		"code", code, "bytes", answer.BytesWritten(), "seconds", took.Seconds())
}

// routeOf returns the pattern that r was routed by, or "unmatched".
func routeOf(r *http.Request) string {
	if ctx := chi.RouteContext(r.Context()); ctx != nil {
		if pattern := ctx.RoutePattern(); pattern != "" {
			return pattern
		}
	}
	return "unmatched"
}
