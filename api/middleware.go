package api

import (
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"

	"github.com/go-chi/chi/v5/middleware"
)

// securityHeaders tells browsers to take answers for nothing but what they are.
func securityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

// recoverer turns a panic into a 500 that says nothing about it; the log says everything. If the answer has begun, the
// connection is cut instead, so that half an answer is not taken for a whole one.
func recoverer(logger *slog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				fault := recover()
				if fault == nil {
					return
				}
				if fault == http.ErrAbortHandler {
					panic(fault)
				}
				logger.ErrorContext(r.Context(), "request panicked", "route", routeOf(r), "panic", fault, "stack", string(debug.Stack()))
				if answer, ok := w.(middleware.WrapResponseWriter); ok && answer.Status() != 0 {
					panic(http.ErrAbortHandler)
				}
				writeProblem(w, http.StatusInternalServerError, "Internal error: the log of the server has the cause.")
			}()
			next.ServeHTTP(w, r)
		})
	}
}

// strictQuery refuses queries that could be read in two ways: badly escaped, a parameter given twice, or one without a value.
func strictQuery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := queryFault(r.URL.RawQuery); fault != "" {
			writeProblem(w, http.StatusBadRequest, fault)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func queryFault(raw string) string {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return "The query is not well-formed."
	}
	for _, list := range values {
		if len(list) > 1 {
			return "A query parameter is given more than once."
		}
	}
	for part := range strings.SplitSeq(raw, "&") {
		if part != "" && !strings.Contains(part, "=") {
			return "A query parameter has no value."
		}
	}
	return ""
}
