package api

import (
	"bytes"
	"context"
	_ "embed" // the documentation
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	fastjson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	fastjsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/reroll-dev/reroll/api/ui"
	"github.com/reroll-dev/reroll/api/view"
)

const description = `Who changed which config, which workloads rolled for it, which did not, and why.

Listings come in pages; follow the field continue. Changes and reloads are listed newest first, workloads by namespace and name.
Times are RFC 3339. A parameter that is empty says nothing, as if it were absent. Errors are problem documents (RFC 9457): 422 names the parameters that are unknown or cannot be used.
Fields may be added; clients should ignore those they do not know.

Reasons are a closed list:

`

// docsHTML is the OpenAPI document for people, rendered by TestDocsPageIsCommitted. It needs no script, and nothing from elsewhere.
//
//go:embed docs.html
var docsHTML []byte

// What those who ask must be allowed to do.
var (
	listChanges    = Deed{Verb: "list", Resource: resourceChanges}
	watchChanges   = Deed{Verb: "watch", Resource: resourceChanges}
	listReloads    = Deed{Verb: "list", Resource: resourceReloads}
	watchReloads   = Deed{Verb: "watch", Resource: resourceReloads}
	listWorkloads  = Deed{Verb: "list", Resource: resourceWorkloads}
	getWorkloads   = Deed{Verb: "get", Resource: resourceWorkloads}
	watchWorkloads = Deed{Verb: "watch", Resource: resourceWorkloads}
	listClusters   = Deed{Verb: "list", Resource: resourceClusters}
)

// mount registers every route of the API on router, and returns what describes them.
func mount(router chi.Router, a *server) *huma.OpenAPI {
	ui.Mount(router)
	h := humachi.New(router, config())
	view.Describe(h.OpenAPI().Components.Schemas)
	get(h, "/api/v1/changes", "list-changes", "List changes of configs with all that came of them, newest first",
		"A change is a verified fact: a config went from one content to another, in these keys, and these users may have written it. Each has its decisions about workloads, and the workloads that still wait for it.",
		inPlace(a, a.listChanges, listChanges, listReloads), 410)
	get(h, "/api/v1/changes/{id}", "get-change", "Get one change, with all that came of it", "IDs are in the listing.", a.getChange, 404, 409)
	get(h, "/api/v1/reloads", "list-reloads", "List reloads of workloads, newest first",
		"A reload is the decision about one workload: whether it rolled and why, the changes that caused it, the time, and the result of the rollout.", inPlace(a, a.listReloads, listReloads), 410)
	get(h, "/api/v1/reloads/{id}", "get-reload", "Get one reload", "IDs are in the listing.", a.getReload, 404, 409)
	get(h, "/api/v1/workloads", "list-workloads", "List opted-in workloads by namespace and name",
		"Each has what it depends on and its verdict: one state, one sentence, and the next command. With unsettled there are those that wait or need attention.", inPlace(a, a.listWorkloads, listWorkloads))
	get(h, "/api/v1/workloads/{cluster}/{namespace}/{kind}/{name}", "get-workload", "Get one opted-in workload, with why it does or does not roll for each of its configs",
		"The verdict is about the whole workload, each explanation about one config.", inPlace(a, a.getWorkload, getWorkloads), 404)
	get(h, "/api/v1/clusters", "list-clusters", "List clusters by name",
		"Each has its health with its problems, where its hints come from, how much waits, and freezes, pauses and windows.",
		inPlace(a, a.listClusters, listClusters))
	get(h, "/api/v1/self", "get-self", "Get your user, and the version of the server", "Without authentication the user is empty.", a.getSelf)
	get(h, "/api/v1/stats", "get-stats", "Get how many changes and reloads there were, and how long they took",
		"Records that are no longer kept are not counted.", inPlace(a, a.getStats, listChanges, listReloads))
	impact := operation(http.MethodPost, "/api/v1/impact", "list-impact", "List what would roll if each of several configs changed",
		"For use before a merge. Rates, limits of how many roll at once, steps, and pauses that select by labels are not foretold.", http.StatusUnsupportedMediaType)
	huma.Register(h, impact, a.listImpact)
	events := operation(http.MethodGet, "/api/v1/events", "stream-events", "Report which listings have changed, as server-sent events",
		"Fetch a listing again when an event names it. Nothing is replayed: a new stream begins with an event that names every listing.")
	events.Responses = describeEvents(h)
	huma.Register(h, events, inPlace(a, a.streamEvents, watchChanges, watchReloads, watchWorkloads))
	view.Settle(h.OpenAPI().Components.Schemas)
	exemplify(h.OpenAPI())
	router.Get("/docs", ui.NewFile("docs.html", docsHTML).ServeHTTP)
	return h.OpenAPI()
}

// get registers a route that answers GET. Its errors are the statuses that only such routes answer with.
func get[I, O any](h huma.API, path, id, summary, description string, handle func(context.Context, *I) (*O, error), errors ...int) {
	huma.Register(h, operation(http.MethodGet, path, id, summary, description, errors...), handle)
}

// operation describes a route. Besides errors, it can answer with what any route can.
func operation(method, path, id, summary, description string, errors ...int) huma.Operation {
	return huma.Operation{
		Method: method, Path: path, OperationID: id, Summary: summary, Description: description, MaxBodyBytes: maxImpactBody,
		Errors: append(errors, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
			http.StatusServiceUnavailable),
	}
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

// encoding has encoding/json's rules. The package is faster with lists of records, since it has times without a detour.
var encoding = fastjson.JoinOptions(fastjsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false))

// marshalJSON writes v in one piece. It reports only faults of v: a client that is gone is not our fault.
func marshalJSON(w io.Writer, v any) error {
	body, _ := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(body)
	body.Reset()
	err := fastjson.MarshalWrite(body, v, encoding)
	if err == nil {
		body.WriteByte('\n')
		_, _ = w.Write(body.Bytes())
	}
	return err
}

// bodies are buffers for answers.
var bodies = sync.Pool{New: func() any { return &bytes.Buffer{} }}

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
