package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"
	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/ingest/audit"
	"github.com/reroll-dev/reroll/reloader"
)

// handler answers requests.
type handler struct {
	opts     Options
	security *security
	metrics  *metrics
	// audit and shipped are the two routes.
	audit, shipped *route
	// refusals limits what anyone can make the server log.
	refusals rate.Sometimes
}

func newHandler(o Options, s *security, m *metrics) *handler {
	h := &handler{
		opts: o, security: s, metrics: m,
		refusals: rate.Sometimes{First: serverLogAtOnce, Interval: serverLogEvery},
	}
	h.audit, h.shipped = auditRoute(o), shippedRoute(o)
	return h
}

// routes has one route for API servers and one for shippers. Paths are matched as they are: nothing cleans them, since that would redirect.
func (h *handler) routes() http.Handler {
	r := chi.NewRouter()
	r.Post("/v1/audit/{cluster}", h.answer(h.post(h.audit)))
	r.Post("/v1/shipped/{cluster}", h.answer(h.post(h.shipped)))
	r.NotFound(h.answer(func(*http.Request) (string, *refusal) {
		return "", &refusal{
			code: http.StatusNotFound, reason: metav1.StatusReasonNotFound,
			message: "no such path; set the server of the audit webhook's kubeconfig to https://HOST:PORT/v1/audit/CLUSTER",
		}
	}))
	r.MethodNotAllowed(h.answer(func(*http.Request) (string, *refusal) {
		return "", &refusal{code: http.StatusMethodNotAllowed, reason: metav1.StatusReasonMethodNotAllowed, message: "only POST is allowed here"}
	}))
	return r
}

// decide says what becomes of a request, and for which cluster its sender speaks; that is empty if it speaks for none.
type decide func(*http.Request) (cluster string, no *refusal)

// answer makes a handler of f: it writes, counts and logs what f decides, and turns a panic of f into an answer.
func (h *handler) answer(f decide) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := h.opts.Now()
		cluster, no := h.guard(f, r)
		if no == nil {
			code := h.accept(w, r)
			h.metrics.answered(cluster, code, h.opts.Now().Sub(began))
			return
		}
		defer func() { h.metrics.answered(cluster, no.code, h.opts.Now().Sub(began)) }()
		h.refusals.Do(func() {
			h.opts.Logger.Warn("audit request refused", slog.Int("code", no.code), slog.String("message", no.message),
				slog.Any("error", no.cause), slog.String("path", fmt.Sprintf("%.120q", r.URL.Path)), slog.String("remote", r.RemoteAddr))
		})
		h.refuse(w, r, no)
	}
}

func (h *handler) guard(f decide, r *http.Request) (cluster string, no *refusal) {
	defer func() {
		if p := recover(); p != nil {
			h.opts.Logger.Error("audit request panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			no = &refusal{
				code: http.StatusInternalServerError, reason: metav1.StatusReasonInternalError,
				message: "a fault in Reroll; please report it with its log",
			}
		}
	}()
	return f(r)
}

// post takes one body: who sends it, whether it can be read, what is in it, and storing it, in this order.
func (h *handler) post(to *route) decide {
	return func(r *http.Request) (string, *refusal) {
		started := h.opts.Now()
		cluster := chi.URLParam(r, "cluster")
		if no := first(r, cluster, h.checkCluster, h.checkSender); no != nil {
			return "", no
		}
		if no := first(r, cluster, to.checkForm, to.checkLength); no != nil {
			return cluster, no
		}
		return cluster, h.take(r, to, cluster, started)
	}
}

// first returns what the first check has against a request.
func first(r *http.Request, cluster string, checks ...func(*http.Request, string) *refusal) *refusal {
	for _, check := range checks {
		if no := check(r, cluster); no != nil {
			return no
		}
	}
	return nil
}

// take reads and stores a body, unless there are too many.
func (h *handler) take(r *http.Request, to *route, cluster string, started time.Time) *refusal {
	length := to.length(r)
	if !to.places.take(length) {
		return busy()
	}
	defer to.places.leave(length)
	h.metrics.inFlight.Inc()
	defer h.metrics.inFlight.Dec()
	result, no := h.read(r, to, cluster, started)
	if no != nil {
		return no
	}
	return h.store(r.Context(), cluster, result, started)
}

// busy refuses a body for which there is no place now.
func busy() *refusal {
	return &refusal{
		code: http.StatusServiceUnavailable, reason: metav1.StatusReasonServiceUnavailable,
		message: "too many audit batches at a time; this one is to be sent again",
	}
}

func (h *handler) checkCluster(_ *http.Request, cluster string) *refusal {
	if reloader.ValidateCluster(cluster) == nil {
		return nil
	}
	return &refusal{
		code: http.StatusNotFound, reason: metav1.StatusReasonNotFound,
		message: "the last part of the path is not a cluster name: it must be a DNS-1123 label",
	}
}

// checkSender answers alike for a cluster that the sender does not speak for and for one that is not served.
func (h *handler) checkSender(r *http.Request, cluster string) *refusal {
	allowed, known := h.security.allows(r, cluster)
	served := len(h.opts.Clusters) == 0 || slices.Contains(h.opts.Clusters, cluster)
	switch {
	case !known:
		return &refusal{
			code: http.StatusUnauthorized, reason: metav1.StatusReasonUnauthorized,
			message: "no valid client certificate or bearer token; check the user of the audit webhook's kubeconfig",
		}
	case !allowed || !served:
		return &refusal{
			code: http.StatusForbidden, reason: metav1.StatusReasonForbidden,
			message: fmt.Sprintf("these credentials may not send events of cluster %s, or it is not served here; "+
				"check the path and the user of the audit webhook's kubeconfig", cluster),
		}
	}
	return nil
}

// read decodes the body, all of it or nothing.
func (h *handler) read(r *http.Request, to *route, cluster string, started time.Time) (audit.Result, *refusal) {
	body := &countingReader{r: http.MaxBytesReader(nil, r.Body, h.opts.Limits.BodyBytes)}
	plain, err := inflate(body, r.Header.Get("Content-Encoding"), h.opts.Limits.InflatedBytes)
	var result audit.Result
	if err == nil {
		o := audit.Options{
			Cluster: cluster, Received: started, Source: to.source, KeepHelmReleases: h.opts.KeepHelmReleases, Limits: h.opts.Limits.Decode,
		}
		var all []byte
		if all, err = io.ReadAll(plain); err == nil {
			result, err = to.decode(all, o)
		}
	}
	h.metrics.bodyBytes.Observe(float64(body.n))
	var tooLong *http.MaxBytesError
	switch {
	case err == nil:
		return result, nil
	case errors.As(err, &tooLong):
		return result, to.tooLong(tooLong.Limit, err)
	case errors.Is(err, audit.ErrTooLarge):
		return result, &refusal{code: http.StatusRequestEntityTooLarge, reason: metav1.StatusReasonRequestEntityTooLarge, message: err.Error()}
	case errors.Is(err, audit.ErrMalformed):
		return result, &refusal{code: http.StatusBadRequest, reason: metav1.StatusReasonBadRequest, message: err.Error()}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return result, &refusal{
			code: http.StatusRequestTimeout, reason: metav1.StatusReasonTimeout, cause: err,
			message: fmt.Sprintf("the body did not arrive within %s", readTimeout),
		}
	}
	return result, &refusal{
		code: http.StatusBadRequest, reason: metav1.StatusReasonBadRequest, cause: err,
		message: "the body could not be read to its end",
	}
}

// store puts the hints of a body into the sink. A body without any needs no sink.
func (h *handler) store(ctx context.Context, cluster string, result audit.Result, started time.Time) *refusal {
	if len(result.Hints) > 0 {
		ctx, cancel := context.WithTimeout(ctx, min(h.opts.Limits.Budget, senderPatience-h.opts.Now().Sub(started)))
		defer cancel()
		began := h.opts.Now()
		err := h.opts.Sink.Put(ctx, result.Hints)
		h.metrics.putDuration.Observe(h.opts.Now().Sub(began).Seconds())
		if err != nil {
			return &refusal{
				code: http.StatusServiceUnavailable, reason: metav1.StatusReasonServiceUnavailable, cause: err,
				message: "the hints cannot be stored now, so the batch is to be sent again; see the log and the readiness of Reroll",
			}
		}
	}
	h.metrics.accepted(cluster, result, started)
	h.opts.Logger.Debug("audit request accepted", slog.String("cluster", cluster), slog.Int("events", result.Received),
		slog.Int("hints", len(result.Hints)), slog.Duration("took", h.opts.Now().Sub(started)))
	return nil
}

// countingReader counts what was read.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
