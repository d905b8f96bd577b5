package api

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
)

// Options is what New needs. All fields but Version are required.
type Options struct {
	// Records is what is answered from. Whoever fills it says when it has caught up.
	Records *projection.Projection
	// Version is what /api/v1/version answers.
	Version view.Version
	Logger  *slog.Logger
	// Metrics is where the metrics reroll_api_… are registered.
	Metrics prometheus.Registerer
}

// server holds what handlers share.
type server struct {
	records *projection.Projection
	version view.Version
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
	router := newRouter(m, o.Logger)
	document, err := mount(router, &server{records: o.Records, version: o.Version})
	if err != nil {
		return nil, err
	}
	router.Get("/openapi.json", serveDocument(document))
	return router, nil
}

// newRouter returns a router with everything that happens to a request before its route: outermost first.
func newRouter(m *metrics, logger *slog.Logger) *chi.Mux {
	router := chi.NewMux()
	router.Use(
		observe(m, logger),
		securityHeaders,
		recoverer(logger),
		middleware.GetHead,
		strictQuery,
		onlyJSON,
	)
	router.NotFound(notFound)
	router.MethodNotAllowed(methodNotAllowed)
	return router
}
