package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/reroll-dev/reroll/reloader/strategy"
)

// Options are what the webhook works with.
type Options struct {
	Rules
	Configs Configs
	// InScope reports whether workloads of a namespace count; nil if all do.
	InScope func(namespace string) bool
	// Certified says that every caller has shown a client certificate, so that Path is the path. Without, a caller proves itself by PathAt.
	Certified bool
	// DryRun promises that nothing is changed.
	DryRun bool
	Logger *slog.Logger
	// Registerer gets the metrics; nil if nobody wants them.
	Registerer prometheus.Registerer
}

// Handler answers the webhook's requests.
type Handler struct {
	options Options
	metrics *metrics
	turns   chan struct{}
	// bodies, reads and kept bound what all reviews together hold: bytes of bodies, reads under way, and bytes of content that is kept.
	bodies, reads, kept *semaphore.Weighted
}

// New returns a handler.
func New(o Options) *Handler {
	if o.InScope == nil {
		o.InScope = func(string) bool { return true }
	}
	return &Handler{
		options: o, metrics: newMetrics(o.Registerer), turns: make(chan struct{}, maxConcurrent),
		bodies: semaphore.NewWeighted(maxBodies), reads: semaphore.NewWeighted(maxReads), kept: semaphore.NewWeighted(maxKept),
	}
}

// proven reports whether the caller is an API server. Any pod may reach the port, so nothing of the request is read before.
func (h *Handler) proven(r *http.Request) bool {
	if h.options.Certified {
		return r.URL.Path == Path
	}
	return knowsPath(h.options.Ring, r.URL.Path, time.Now())
}

// ServeHTTP answers one review. Only what is no review gets an error: then nobody would know what to allow.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	if !h.proven(r) {
		h.metrics.observe(resultUnproven, began)
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience(r))
	defer cancel()
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-ctx.Done():
		h.refuse(w, began, http.StatusServiceUnavailable, errors.New("too many requests at a time"))
		return
	}
	// Whoever sends slowly must not keep a turn for longer than an answer is waited for. A writer without deadlines has no slow sender.
	if deadline, ok := ctx.Deadline(); ok {
		_ = http.NewResponseController(w).SetReadDeadline(deadline)
	}
	room := roomFor(r)
	if err := h.bodies.Acquire(ctx, room); err != nil {
		h.refuse(w, began, http.StatusServiceUnavailable, errors.New("too many large requests at a time"))
		return
	}
	defer h.bodies.Release(room)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, room))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		h.refuse(w, began, http.StatusRequestEntityTooLarge, fmt.Errorf("the body is longer than %d bytes", tooLong.Limit))
		return
	} else if err != nil {
		h.refuse(w, began, http.StatusBadRequest, fmt.Errorf("the body cannot be read: %w", err))
		return
	}
	request, err := decode(body)
	body = nil //nolint:ineffassign,wastedassign // it need not be kept while configs are read
	if err != nil {
		h.refuse(w, began, http.StatusBadRequest, err)
		return
	}
	response, result := h.answer(ctx, request)
	h.metrics.observe(result, began)
	h.write(w, response)
}

// roomFor returns how many bytes the body of a request may have: as many as it says, or as many as any may.
func roomFor(r *http.Request) int64 {
	if r.ContentLength >= 0 && r.ContentLength <= maxBodyBytes {
		return max(1, r.ContentLength)
	}
	return maxBodyBytes
}

// patience returns for how long an answer is worth something: API servers say in the query how long they wait.
func patience(r *http.Request) time.Duration {
	waits, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil {
		return longestReview
	}
	return max(shortestReview, min(longestReview, waits-margin))
}

func (h *Handler) refuse(w http.ResponseWriter, began time.Time, code int, err error) {
	h.metrics.observe(resultRefused, began)
	h.options.Logger.Warn("admission request refused", "code", code, "error", err)
	http.Error(w, err.Error(), code)
}

func (h *Handler) write(w http.ResponseWriter, response *admissionv1.AdmissionResponse) {
	var review admissionv1.AdmissionReview
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	review.Response = response
	body, err := json.Marshal(review)
	if err != nil {
		http.Error(w, "the answer cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // who went away gets no answer
}

// answer says what is to be changed about a request and what became of it. It allows every one.
func (h *Handler) answer(ctx context.Context, r *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, string) {
	response := &admissionv1.AdmissionResponse{UID: r.UID, Allowed: true}
	ops, result, err := h.review(ctx, r)
	if len(ops) > 0 {
		patch, marshalErr := marshal(ops)
		if marshalErr == nil {
			form := admissionv1.PatchTypeJSONPatch
			response.Patch, response.PatchType = patch, &form
		}
		err = errors.Join(err, marshalErr)
	}
	if err != nil {
		result = resultMissed
		response.Warnings = append(response.Warnings, warning(err))
		h.options.Logger.Warn("admission could not keep all marks", "kind", r.Kind.Kind, "namespace", r.Namespace, "name", r.Name, "error", err)
	}
	if result != resultUntouched {
		h.options.Logger.Debug("admission", "kind", r.Kind.Kind, "namespace", r.Namespace, "name", r.Name, "result", result)
	}
	return response, result
}

// warning is what whoever writes the workload is told.
func warning(err error) string {
	text := "reroll: the marks of this workload may be out of date until the next sweep: " + err.Error()
	return text[:min(len(text), maxWarning)]
}

// review returns what is to be changed about a request. What is returned beside an error can be done all the same.
func (h *Handler) review(ctx context.Context, r *admissionv1.AdmissionRequest) ([]strategy.Op, string, error) {
	kind, known := kindOf(r)
	if !known || h.options.DryRun || !h.options.InScope(r.Namespace) || marks(r) {
		return nil, resultUntouched, nil
	}
	draft, err := h.options.Draft(kind, r.OldObject.Raw, r.Object.Raw)
	if err != nil || draft == nil {
		return nil, resultUntouched, err
	}
	seen, done, missed := h.see(ctx, draft)
	defer done()
	ops, brought, err := draft.Patch(seen, time.Now())
	switch {
	case brought > 0:
		return ops, resultMarked, errors.Join(missed, err)
	case len(ops) > 0:
		return ops, resultRestored, errors.Join(missed, err)
	}
	return nil, resultUntouched, errors.Join(missed, err)
}

// Server returns an HTTP server for h, which has no certificate yet.
func (h *Handler) Server() *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(h.options.Logger.Handler(), slog.LevelWarn),
	}
}
