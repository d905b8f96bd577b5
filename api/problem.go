package api

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"
)

// writeProblem answers with a problem document, for the places that no operation handles.
func writeProblem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	// If this fails, the client is gone.
	_ = json.NewEncoder(w).Encode(huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail})
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	writeProblem(w, http.StatusNotFound, "Unknown path: /openapi.json lists all paths.")
}

// methodNotAllowed names the methods that the path of the request does have in router.
func methodNotAllowed(router chi.Routes) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		if router.Match(chi.NewRouteContext(), http.MethodGet, r.URL.Path) {
			allowed = append(allowed, http.MethodGet, http.MethodHead)
		}
		if router.Match(chi.NewRouteContext(), http.MethodPost, r.URL.Path) {
			allowed = append(allowed, http.MethodPost)
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		writeProblem(w, http.StatusMethodNotAllowed, "Method not allowed: the header Allow lists the methods of this path.")
	}
}

// stillReading is the answer to a question for one record that is not known before everything stored was read.
func stillReading() error {
	return huma.ErrorWithHeaders(
		huma.Error503ServiceUnavailable("The stored records are still being read; this one may be among them."),
		http.Header{"Retry-After": {retryAfterSeconds}},
	)
}
