package api

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/reroll-dev/reroll/api/clients"
	"github.com/reroll-dev/reroll/api/projection"
)

// Options is what New needs. The fields before Version and those of Logger and Metrics are required.
type Options struct {
	// Records is what is answered from. Anyone who fills it says when it has caught up.
	Records *projection.Projection
	// Version is the build that answers.
	Version string
	Logger  *slog.Logger
	// Metrics is where the metrics reroll_api_… are registered.
	Metrics prometheus.Registerer
	// RequestRate is how many requests one client may make in a second, in the long run; 0 means DefaultRequestRate.
	RequestRate float64
	// Access says who asks and what they may read. Nil: clients are not distinguished, and all may read.
	Access Access
	// Cluster is the one whose API server Access asks about rights. Nothing of other clusters is shown by these.
	Cluster string
	// Rights say, in the place of that API server, what of which clusters the groups of users see. None: it decides.
	Rights []Right
	// Hosts says which names requests may call the server by, and HostNames further ones, in lower case.
	Hosts     Hosts
	HostNames []string
}

// server holds what handlers share.
type server struct {
	records *projection.Projection
	version string
	// streams counts the streams of events that are open, and streamsOf those of each client.
	streams   *semaphore.Weighted
	streamsOf *clients.Turns
	// scans bounds the questions of each client that walk through what is kept.
	scans  *clients.Turns
	access Access
	// cluster and rights are those of Options.
	cluster string
	rights  []Right
	denied  *prometheus.CounterVec
	open    prometheus.Gauge
	logger  *slog.Logger
}

// New returns the handler of the whole API. A registerer takes the metrics of one.
func New(o Options) (http.Handler, error) {
	if len(o.Rights) > 0 && o.Access == nil {
		return nil, errNoRights
	}
	m := newMetrics(o.Metrics)
	o.Metrics.MustRegister(clusterMetrics{o.Records})
	if o.RequestRate == 0 {
		o.RequestRate = DefaultRequestRate
	}
	router := newRouter(m, o)
	document, err := document(mount(router, &server{
		records: o.Records, version: o.Version, streams: semaphore.NewWeighted(maxStreams),
		streamsOf: clients.NewTurns(maxStreamsOfClient), scans: clients.NewTurns(scansOfClient),
		access: o.Access, cluster: o.Cluster, rights: o.Rights, denied: m.denied, open: m.streams, logger: o.Logger,
	}))
	if err != nil {
		return nil, err
	}
	router.Get("/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document)
	})
	return router, nil
}

// newRouter returns a router with everything that happens to a request before its route: outermost first.
func newRouter(m *metrics, o Options) *chi.Mux {
	router := chi.NewMux()
	router.Use(
		observe(m, o.Logger),
		securityHeaders,
		recoverer(o.Logger),
		rateLimit(o.RequestRate),
		addressed,
	)
	router.Use(
		hostCheck(o.Hosts, o.HostNames, m.denied),
		sameOrigin(m.denied),
		authenticate(o.Access, m.denied, o.Logger),
		middleware.GetHead,
		strictQuery,
	)
	router.NotFound(notFound)
	router.MethodNotAllowed(methodNotAllowed(router))
	return router
}
