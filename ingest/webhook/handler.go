package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/reroll-dev/reroll/ingest/audit"
	"github.com/reroll-dev/reroll/reloader"
)

// handler answers requests.
type handler struct {
	opts    Options
	auth    *auth
	metrics *metrics
	// refusals limits what anyone can make the server log.
	refusals rate.Sometimes
}

// routes mounts the routes. Paths are matched as they are: nothing cleans them, since that would redirect.
func (h *handler) routes() http.Handler {
	r := chi.NewRouter()
	var paths []string
	for _, to := range routes {
		to.limits, to.limit, to.turn = h.opts.Limits, newLimiter(h.opts.Limits, to.atOnce), semaphore.NewWeighted(1)
		r.Post(to.path, h.answer(h.post(&to)))
		paths = append(paths, strings.Replace(to.path, "{cluster}", "CLUSTER", 1))
	}
	r.NotFound(h.answer(func(*http.Request) (string, *refusal) {
		return "", refuse(http.StatusNotFound, "no such path; check the server of the audit webhook's kubeconfig: its path must be "+strings.Join(paths, " or "))
	}))
	r.MethodNotAllowed(h.answer(func(*http.Request) (string, *refusal) {
		return "", refuse(http.StatusMethodNotAllowed, "only POST is allowed here")
	}))
	return r
}

// decide returns the answer to a request and the cluster of its sender; empty if it has none.
type decide func(*http.Request) (cluster string, no *refusal)

// answer makes a handler of f: it writes, counts and logs what f decides.
func (h *handler) answer(f decide) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := h.opts.Now()
		cluster, no := f(r)
		code := h.write(w, r, no)
		h.metrics.answered(cluster, code, h.opts.Now().Sub(began))
		if no != nil {
			h.refusals.Do(func() {
				h.opts.Logger.Warn("audit request refused", slog.Int("code", no.code), slog.String("message", no.message),
					slog.Any("error", no.cause), slog.String("path", fmt.Sprintf("%.120q", r.URL.Path)), slog.String("remote", r.RemoteAddr))
			})
		}
	}
}

// post takes one body: who sends it, whether it can be read, what is in it, and storing it, in this order.
func (h *handler) post(to *route) decide {
	return func(r *http.Request) (string, *refusal) {
		started := h.opts.Now()
		cluster := chi.URLParam(r, "cluster")
		if no := h.checkSender(r, cluster); no != nil {
			return "", no
		}
		if no := to.checkHead(r); no != nil {
			return cluster, no
		}
		weight := to.limit.weight(r.ContentLength)
		if !to.limit.TryAcquire(weight) {
			return cluster, busy(nil)
		}
		defer to.limit.Release(weight)
		h.metrics.inFlight.Inc()
		defer h.metrics.inFlight.Dec()
		return cluster, h.take(r, to, cluster, started)
	}
}

// checkSender answers alike for a cluster that the sender does not speak for and for one that is not served.
func (h *handler) checkSender(r *http.Request, cluster string) *refusal {
	if reloader.ValidateCluster(cluster) != nil {
		return refuse(http.StatusNotFound, "the last part of the path is not a cluster name: it must be a DNS-1123 label")
	}
	allowed, known := h.auth.allows(r, cluster)
	served := len(h.opts.Clusters) == 0 || slices.Contains(h.opts.Clusters, cluster)
	switch {
	case !known:
		return refuse(http.StatusUnauthorized, "no valid client certificate or bearer token; check the user of the audit webhook's kubeconfig")
	case !allowed || !served:
		return refuse(http.StatusForbidden, fmt.Sprintf("these credentials may not send events of cluster %s, or it is not served here; "+
			"check the path and the user of the audit webhook's kubeconfig", cluster))
	}
	return nil
}

// take reads, decodes and stores a body, all of it or nothing.
func (h *handler) take(r *http.Request, to *route, cluster string, started time.Time) *refusal {
	body, err := to.read(r)
	h.metrics.bodyBytes.Observe(float64(len(body)))
	if err != nil {
		return to.unreadable(err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), min(budget, senderPatience-h.opts.Now().Sub(started)))
	defer cancel()
	result, err := to.unpack(ctx, body, r.Header.Get("Content-Encoding"), audit.Options{
		Cluster: cluster, Received: started, Source: to.source, Limits: h.opts.Limits.Decode,
	})
	if err != nil {
		return to.unreadable(err)
	}
	if len(result.Hints) > 0 { // a body without any needs no sink
		began := h.opts.Now()
		err := h.opts.Sink.Put(ctx, result.Hints)
		h.metrics.putDuration.Observe(h.opts.Now().Sub(began).Seconds())
		if err != nil {
			no := refuse(http.StatusServiceUnavailable, "the hints cannot be stored now, so send the batch again; see the log and the readiness of Reroll")
			no.cause = err
			return no
		}
	}
	h.metrics.accepted(cluster, result, started)
	h.opts.Logger.Debug("audit request accepted", slog.String("cluster", cluster), slog.Int("events", result.Received),
		slog.Int("hints", len(result.Hints)), slog.Duration("took", h.opts.Now().Sub(started)))
	return nil
}

// errBusy means that a body would have had to wait too long for its turn.
var errBusy = errors.New("no turn within the time for a body")

// busy refuses a body for lack of room.
func busy(cause error) *refusal {
	no := refuse(http.StatusServiceUnavailable, "too many audit batches at a time; send this one again")
	no.cause = cause
	return no
}
