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
)

// Options are what the webhook works with.
type Options struct {
	Rules
	Configs Configs
	// InScope reports whether workloads of a namespace count.
	InScope func(namespace string) bool
	// DryRun leaves every request as it is.
	DryRun bool
	Logger *slog.Logger
	// Registerer gets the metrics.
	Registerer prometheus.Registerer
}

// Handler answers the webhook's requests.
type Handler struct {
	options Options
	metrics *metrics
	// memory bounds what all reviews hold together, and so their number.
	memory *semaphore.Weighted
}

// New returns a handler.
func New(o Options) *Handler {
	return &Handler{options: o, metrics: newMetrics(o.Registerer), memory: semaphore.NewWeighted(maxMemory)}
}

// ServeHTTP answers one review. Any pod may reach the port, so nothing of a request is read before its caller has proved to be an API server. Only a body that is not a review gets an error: it does not say what to allow.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	switch {
	case !knowsPath(h.options.Ring, r.URL.Path, began):
		h.metrics.observe(resultUnproven, began)
		http.NotFound(w, r)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience(r))
	defer cancel()
	if deadline, ok := ctx.Deadline(); ok {
		_ = http.NewResponseController(w).SetReadDeadline(deadline) // a slow sender must not hold memory for longer
	}
	room := roomFor(r)
	if err := h.memory.Acquire(ctx, room+readBytes); err != nil {
		h.refuse(w, began, http.StatusServiceUnavailable, errors.New("too many requests at a time"))
		return
	}
	defer h.memory.Release(room + readBytes)
	request, code, err := receive(w, r, room)
	if err != nil {
		h.refuse(w, began, code, err)
		return
	}
	response, result := h.answer(ctx, request)
	h.metrics.observe(result, began)
	review := admissionv1.AdmissionReview{Response: response}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // a caller that has gone away gets no answer
}

// receive reads a body of at most room bytes, and returns the status code of the answer if it is not a review.
func receive(w http.ResponseWriter, r *http.Request, room int64) (*admissionv1.AdmissionRequest, int, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, room))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the body is longer than %d bytes", tooLong.Limit)
	}
	if err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("read the body: %w", err)
	}
	request, err := decode(body)
	return request, http.StatusBadRequest, err
}

// roomFor returns how many bytes the body of a request may have: as many as it announces, or else the maximum.
func roomFor(r *http.Request) int64 {
	if r.ContentLength >= 0 && r.ContentLength <= maxBodyBytes {
		return max(1, r.ContentLength)
	}
	return maxBodyBytes
}

// patience returns how long an answer is useful: API servers say in the query how long they wait.
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

// Server returns an HTTP server for h, which has no certificate yet.
func (h *Handler) Server() *http.Server {
	return &http.Server{ // an API server keeps an idle connection for 90 s
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 15 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 32 << 10, ErrorLog: slog.NewLogLogger(h.options.Logger.Handler(), slog.LevelWarn),
	}
}
