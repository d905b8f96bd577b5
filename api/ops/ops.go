// Package ops answers those who run the program: Prometheus, and the kubelet's probes.
//
//   - /metrics has every metric of the given Gatherer, native histograms included for those who ask for them.
//   - /livez says whether a restart would help, /readyz whether work can be done. 200 and "ok", or 503 and one line for each check;
//     with ?verbose the lines are there in any case.
//   - /live answers "alive" for as long as the process can answer.
//   - /barrier waits until nothing is in flight in a namespace, and says what is. It answers the loopback alone.
//
// Anything else is a 404. Profiling is not served. Nothing here authenticates: the reasons of failed checks must be fit
// for everyone who can reach the port.
package ops

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes bounds how many scrapes are answered at once; more get 503.
const maxScrapes = 8

// Check is the state of one thing that health depends on.
type Check struct {
	// Name is a word without spaces.
	Name string
	// Err is why the check failed, or nil.
	Err error
}

// Options is what New needs. Gatherer and Logger are required.
type Options struct {
	Gatherer prometheus.Gatherer
	// Live and Ready return the state of every check, each time that they are asked. They must answer at once: what takes long
	// must be looked at beforehand. Without one, that probe always succeeds.
	Live  func() []Check
	Ready func() []Check
	// Barrier is nil where nothing is decided.
	Barrier Barrier
	// Logger gets what goes wrong in gathering metrics.
	Logger *slog.Logger
}

// New returns the handler of the operations port.
func New(o Options) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(o.Logger.Handler(), slog.LevelError),
		ErrorHandling:       promhttp.ContinueOnError,
		EnableOpenMetrics:   true,
		MaxRequestsInFlight: maxScrapes,
	}))
	mux.Handle("GET /livez", probe(o.Live))
	mux.Handle("GET /readyz", probe(o.Ready))
	mux.HandleFunc("GET /live", alive)
	if o.Barrier != nil {
		mux.Handle("GET /barrier", barrier(o.Barrier))
	}
	return plain(mux)
}

func alive(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "alive") }

// plain marks answers as text to be taken for nothing else, and not to be kept. Handlers may name another type.
func plain(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func probe(checks func() []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var list []Check
		if checks != nil {
			list = checks()
		}
		lines, ok := render(list)
		verbose := r.URL.Query().Has("verbose")
		switch {
		case !ok:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, lines+"failed\n")
		case verbose:
			_, _ = io.WriteString(w, lines+"ok\n")
		default:
			_, _ = io.WriteString(w, "ok")
		}
	}
}

// render returns one line for each check, and whether all are well.
func render(checks []Check) (string, bool) {
	var lines strings.Builder
	ok := true
	for _, c := range checks {
		if c.Err == nil {
			fmt.Fprintf(&lines, "[+]%s ok\n", c.Name)
			continue
		}
		ok = false
		fmt.Fprintf(&lines, "[-]%s failed: %s\n", c.Name, oneLine(c.Err.Error()))
	}
	return lines.String(), ok
}

// oneLine keeps a reason from looking like the line of another check.
func oneLine(reason string) string { return strings.Join(strings.Fields(reason), " ") }
