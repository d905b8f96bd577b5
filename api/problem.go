package api

import (
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// writeProblem answers with a problem document, for the places that no operation handles.
func writeProblem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	// Nobody is left to tell if this fails: the client is gone.
	_ = json.NewEncoder(w).Encode(huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail})
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	writeProblem(w, http.StatusNotFound, "There is nothing at this path; /openapi.json lists what there is.")
}

func methodNotAllowed(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Allow", "GET, HEAD")
	writeProblem(w, http.StatusMethodNotAllowed, "This can only be read, with GET or HEAD.")
}

// stillReading is the answer to a question for one record that is not known before everything stored was read.
func stillReading() error {
	return huma.ErrorWithHeaders(
		huma.Error503ServiceUnavailable("The stored records are still being read; this one may be among them."),
		http.Header{"Retry-After": {retryAfterSeconds}},
	)
}
