package api

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
)

// Options is what New needs. All fields but Version and RequestRate are required.
type Options struct {
	// Records is what is answered from. Whoever fills it says when it has caught up.
	Records *projection.Projection
	// Version is what /api/v1/version answers.
	Version view.Version
	Logger  *slog.Logger
	// Metrics is where the metrics reroll_api_… are registered.
	Metrics prometheus.Registerer
	// RequestRate is how many requests one client may make in a second, in the long run; 0 means DefaultRequestRate.
	RequestRate float64
}

// server holds what handlers share.
type server struct {
	records *projection.Projection
	version view.Version
	// streams counts the streams of events that are open.
	streams *semaphore.Weighted
}

// New returns the handler of the whole API. It fails if an option is missing or its metrics are registered already.
func New(o Options) (http.Handler, error) {
	if o.Records == nil || o.Logger == nil || o.Metrics == nil {
		return nil, errors.New("api: Records, Logger and Metrics are required")
	}
	m, err := newMetrics(o.Metrics)
	if err != nil {
		return nil, err
	}
	if o.RequestRate == 0 {
		o.RequestRate = DefaultRequestRate
	}
	router := newRouter(m, o.Logger, o.RequestRate)
	document, err := mount(router, &server{records: o.Records, version: o.Version, streams: semaphore.NewWeighted(maxStreams)})
	if err != nil {
		return nil, err
	}
	router.Get("/openapi.json", serveDocument(document))
	return router, nil
}

// newRouter returns a router with everything that happens to a request before its route: outermost first.
func newRouter(m *metrics, logger *slog.Logger, requestRate float64) *chi.Mux {
	router := chi.NewMux()
	router.Use(
		observe(m, logger),
		securityHeaders,
		recoverer(logger),
		rateLimit(requestRate),
		middleware.GetHead,
		strictQuery,
		negotiate,
	)
	router.NotFound(notFound)
	router.MethodNotAllowed(methodNotAllowed(router))
	return router
}
