package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"

	"github.com/reroll-dev/reroll/api/view"
)

const description = `Who changed which config, which workloads rolled for it, which did not, and why.

Listings come in pages; follow metadata.continue. Changes and reloads are listed newest first, workloads by namespace and name.
Times are RFC 3339. Errors are problem documents (RFC 9457): 422 names the parameters that are unknown or cannot be used.
Fields may be added; clients should ignore those they do not know.

Reasons are a closed list:

`

// mount registers every route of the API on router, and returns the OpenAPI document that describes them.
func mount(router chi.Router, a *server) ([]byte, error) {
	h := humachi.New(router, config())
	get(h, "/api/v1/changes", "list-changes", "List changes of configs, newest first", a.listChanges, 400, 410, 422)
	get(h, "/api/v1/changes/{id}", "get-change", "Get one change", a.getChange, 400, 404, 503)
	get(h, "/api/v1/reloads", "list-reloads", "List reloads of workloads, newest first", a.listReloads, 400, 410, 422)
	get(h, "/api/v1/reloads/{id}", "get-reload", "Get one reload", a.getReload, 400, 404, 503)
	get(h, "/api/v1/workloads", "list-workloads", "List opted-in workloads by namespace and name", a.listWorkloads, 400, 422)
	get(h, "/api/v1/workloads/{cluster}/{namespace}/{kind}/{name}", "get-workload", "Get one opted-in workload", a.getWorkload, 400, 404, 503)
	get(h, "/api/v1/version", "get-version", "Get the version of this build", a.getVersion, 400, 422)
	return document(h.OpenAPI())
}

// get registers a route that answers GET. Its errors are the statuses that it can answer besides 200 and 500.
func get[I, O any](h huma.API, path, id, summary string, handle func(context.Context, *I) (*O, error), errors ...int) {
	huma.Register(h, huma.Operation{
		Method:      http.MethodGet,
		Path:        path,
		OperationID: id,
		Summary:     summary,
		Errors:      errors,
	}, handle)
}

// config is huma's, less what would not fit: its pages load scripts from elsewhere, and its own way of serving the document
// shares a variable between requests without a lock.
func config() huma.Config {
	c := huma.DefaultConfig("Reroll API", "v1")
	c.Info.Description = description + view.ReasonList()
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	c.CreateHooks = nil
	c.RejectUnknownQueryParameters = true
	c.AllowAdditionalPropertiesByDefault = true
	format := huma.Format{Marshal: marshalJSON, Unmarshal: json.Unmarshal}
	c.Formats = map[string]huma.Format{"application/json": format, "json": format}
	return c
}

// marshalJSON writes v in one piece. It reports only what is wrong with v: that a client is gone is no fault of ours.
func marshalJSON(w io.Writer, v any) error {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, _ = w.Write(body.Bytes())
	return nil
}

func document(spec *huma.OpenAPI) ([]byte, error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("render the OpenAPI document: %w", err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, raw, "", "  "); err != nil {
		return nil, fmt.Errorf("render the OpenAPI document: %w", err)
	}
	return append(indented.Bytes(), '\n'), nil
}

func serveDocument(document []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document)
	}
}
