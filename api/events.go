package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/projection"
)

// eventStream is the media type of a stream of events.
const eventStream = "text/event-stream"

// EventFilter is what a stream of events can be narrowed to. An empty field does not narrow it.
type EventFilter struct {
	Cluster   string `query:"cluster" maxLength:"63" example:"local" doc:"Only news about this cluster."`
	Namespace string `query:"namespace" maxLength:"63" example:"shop" doc:"Only news about this namespace, and about clusters."`
}

// Changed is the data of an event.
type Changed struct {
	Changed []projection.Topic `json:"changed" nullable:"false" enum:"changes,reloads,workloads,clusters" doc:"The listings that have something new." example:"[\"changes\",\"workloads\"]"`
}

// streamEvents tells which listings have changed until the client or the server goes.
func (a *server) streamEvents(ctx context.Context, in *EventFilter) (*huma.StreamResponse, error) {
	leave, ok := a.streamsOf.TryTake(clientOf(ctx))
	if !ok {
		return nil, huma.ErrorWithHeaders(
			huma.Error429TooManyRequests(fmt.Sprintf("You have %d streams of events open: close one, or retry in %s s.", maxStreamsOfClient, streamRetrySeconds)),
			http.Header{"Retry-After": {streamRetrySeconds}},
		)
	}
	if !a.streams.TryAcquire(1) {
		leave()
		return nil, huma.ErrorWithHeaders(
			huma.Error503ServiceUnavailable("Too many streams of events are open; try again later."),
			http.Header{"Retry-After": {streamRetrySeconds}},
		)
	}
	interest := a.interest(ctx, *in)
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer leave()
		defer a.streams.Release(1)
		ctx.SetHeader("Content-Type", eventStream)
		ctx.SetHeader("X-Accel-Buffering", "no") // nginx holds back what it takes for a page
		ctx.SetStatus(http.StatusOK)
		if ctx.Method() == http.MethodHead {
			return
		}
		a.open.Inc()
		defer a.open.Dec()
		watch := a.records.Watch(interest)
		defer watch.End()
		span, cancel := a.streamSpan(ctx.Context())
		defer cancel()
		w, _ := ctx.BodyWriter().(http.ResponseWriter) // as every one that a server has
		nudge(span, w, watch)
	}}, nil
}

// interest is in the news that a filter lets through and the client of ctx may see.
func (a *server) interest(ctx context.Context, f EventFilter) projection.Interest {
	clusters, reach := a.sees(ctx, Deed{Verb: "watch", Resource: resourceClusters}), a.reach(ctx)
	return func(topic projection.Topic, cluster, namespace string) bool {
		if topic == projection.TopicClusters {
			return clusters && is(f.Cluster, cluster) && reach.sees(cluster, "")
		}
		return is(f.Cluster, cluster) && is(f.Namespace, namespace) && reach.sees(cluster, namespace)
	}
}

// streamSpan returns the context of a stream. Where readers are distinguished, it ends in time: they come back, and prove again who they
// are and that they still may.
func (a *server) streamSpan(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.access == nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, longestStream)
}

// nudge writes an event for everything at once, and then one whenever something has changed, until ctx or the server ends, or the reader takes
// nothing any more. Anyone who opens a stream has therefore nothing to ask beforehand.
func nudge(ctx context.Context, w http.ResponseWriter, watch *projection.Watch) {
	err := writeEvent(w, Changed{projection.Topics})
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	pause := time.After(nudgeEvery)
	var news <-chan struct{} // nil while there is a pause
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-endOf(ctx):
			return
		case <-pause:
			news = watch.News()
		case <-news:
			err = writeEvent(w, Changed{watch.Take()})
			news, pause = nil, time.After(nudgeEvery)
		case <-beat.C:
			err = writeLine(w, ": still here\n\n")
		}
	}
}

func writeEvent(w http.ResponseWriter, c Changed) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return writeLine(w, "event: changed\ndata: "+string(data)+"\n\n")
}

// writeLine writes to a stream. Each write has a time limit of its own: the server's would end every stream, and without one a client that reads
// nothing would be kept for ever.
func writeLine(w http.ResponseWriter, text string) error {
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(time.Now().Add(eventWriteTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	return control.Flush()
}

// describeEvents says what streamEvents answers with.
func describeEvents(h huma.API) map[string]*huma.Response {
	data := h.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Changed](), true, "")
	return map[string]*huma.Response{"200": {
		Description: "Server-sent events, until either side goes: the first at once, then at most one in a second. Fetch the listings again that an event names. " +
			"Lines that begin with a colon say no more than that the server is there.",
		Content: map[string]*huma.MediaType{
			eventStream: {Schema: &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{
				Type: huma.TypeObject, Required: []string{"event", "data"},
				Properties: map[string]*huma.Schema{"event": {Type: huma.TypeString, Enum: []any{"changed"}}, "data": data},
			}}},
		},
	}}
}
