package api

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// graphType is the media type of Graphviz's language.
const graphType = "text/vnd.graphviz"

type getGraphInput struct {
	DependencyFilter
	Format string `query:"format" enum:"json,dot" doc:"The language of the answer. If absent, the header Accept says it, and JSON is the default."`
	Limit  int    `query:"limit" minimum:"1" maximum:"5000" default:"1000" doc:"How many dependencies the answer may have."`
}

type graphOutput struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

func (a *server) getGraph(ctx context.Context, in *getGraphInput) (*graphOutput, error) {
	var workloads []*reloader.WorkloadRecord
	done, err := a.scans.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	a.records.EachWorkload(projection.WorkloadKey{}, func(w *reloader.WorkloadRecord) bool {
		// A workload without an edge that is asked for must not count, or those behind it would be left out without a word.
		if in.match(w) && slices.ContainsFunc(w.Edges, func(e reloader.Edge) bool { return in.matchEdge(w, e) }) {
			workloads = append(workloads, w)
		}
		return len(workloads) <= in.Limit
	})
	graph := view.GraphOf(workloads, in.matchEdge, in.Limit)
	graph.Warnings = append(graph.Warnings, a.warnings(ctx, in.clusters()...)...)
	if in.Format == "dot" || in.Format == "" && mediaOf(ctx) == graphType {
		return &graphOutput{ContentType: graphType, Body: graph.DOT()}, nil
	}
	body, err := json.Marshal(graph)
	return &graphOutput{ContentType: "application/json", Body: body}, err
}

// describeGraph says what getGraph answers with: its body is bytes as far as huma can tell.
func describeGraph(h huma.API) map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Description: "OK",
		Content: map[string]*huma.MediaType{
			"application/json": {Schema: schemaOf[view.Graph](h)},
			graphType:          {Schema: &huma.Schema{Type: huma.TypeString}},
		},
	}}
}
