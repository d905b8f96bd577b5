package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// eventStream is the media type of a stream of events.
const eventStream = "text/event-stream"

// EventFilter is what a stream of events can be narrowed to. An empty field does not narrow it. Events about the stream itself always
// come.
type EventFilter struct {
	Cluster          string   `query:"cluster" maxLength:"63" doc:"Only events about this cluster."`
	Namespace        string   `query:"namespace" maxLength:"63" doc:"Only events about this namespace, and those about clusters."`
	Types            []string `query:"types" enum:"change,reload,workload,workloadGone,cluster" maxItems:"5" doc:"Only events of these types, separated by commas."`
	IncludeBaselines bool     `query:"includeBaselines" doc:"Also tell of baselines, the first sight of each config."`
}

type streamEventsInput struct {
	EventFilter
	LastEventID string `header:"Last-Event-ID" maxLength:"64" doc:"The ID of the last event that the reader has seen. Those that followed it come first, or resync."`
}

// eventKind is one type of event: what it is called, and what its data are.
type eventKind struct {
	name, doc string
	schema    func(huma.API) *huma.Schema
}

var eventKinds = []eventKind{
	{"hello", "The first event of every stream.", schemaOf[view.Hello]},
	{"change", "A change was verified, or more became known about it.", schemaOf[reloader.Change]},
	{"reload", "A workload was rolled or not, or more became known about it.", schemaOf[view.Reload]},
	{"workload", "A workload depends on something else now, or is further than before.", schemaOf[view.Workload]},
	{"workloadGone", "A workload asks for nothing any more, or does not exist.", schemaOf[view.WorkloadGone]},
	{"cluster", "A dispatcher has published the status of its cluster.", schemaOf[view.Cluster]},
	{"resync", "Events are missing here: read anew what you know.", schemaOf[view.Resync]},
}

// streamEvents answers with events until the client or the server goes.
func (a *server) streamEvents(ctx context.Context, in *streamEventsInput) (*huma.StreamResponse, error) {
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
	clusters := a.sees(ctx, Deed{Verb: "watch", Resource: resourceClusters})
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
		s := &stream{server: a, filter: in.EventFilter, clusters: clusters, w: newEventWriter(ctx.BodyWriter())}
		span, cancel := a.streamSpan(ctx.Context())
		defer cancel()
		s.run(span, in.LastEventID)
	}}, nil
}

// streamSpan returns the context of a stream. Where readers are told apart, it ends in time: they come back, and prove anew who they
// are and that they still may.
func (a *server) streamSpan(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.access == nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, longestStream)
}

// stream is one reader of events.
type stream struct {
	*server
	filter EventFilter
	// clusters says that the reader may see clusters.
	clusters bool
	w        *eventWriter
	// at is the number of the last event that was looked at.
	at uint64
}

// run writes until ctx or the server ends, or the reader takes nothing any more.
func (s *stream) run(ctx context.Context, lastID string) {
	reason := s.place(lastID)
	err := s.write("hello", render(view.Hello{Version: s.version, CaughtUp: s.records.CaughtUp()}))
	if err == nil && reason != "" {
		err = s.resync(reason)
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for err == nil {
		var news <-chan struct{}
		if news, err = s.catchUp(); err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-endOf(ctx):
			return
		case <-news:
		case <-beat.C:
			err = s.w.comment("still here")
		}
	}
}

// place finds where the reader goes on, and why that is not where it was; empty if it is.
func (s *stream) place(lastID string) (reason string) {
	s.at = s.records.LastEvent()
	if lastID == "" {
		return ""
	}
	incarnation, number, _ := strings.Cut(lastID, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	if incarnation != s.records.Incarnation() || err != nil {
		return "Restarted"
	}
	if _, _, ok := s.records.EventsAfter(n, 0); !ok {
		return "Expired"
	}
	s.at = n
	return ""
}

// catchUp writes every event that there is, and returns what is closed when there is another.
func (s *stream) catchUp() (<-chan struct{}, error) {
	for {
		events, news, ok := s.records.EventsAfter(s.at, eventsAtOnce)
		if !ok {
			s.at = s.records.LastEvent()
			if err := s.resync("Lagged"); err != nil {
				return nil, err
			}
			continue
		}
		if len(events) == 0 {
			return news, nil
		}
		for _, e := range events {
			s.at++
			if err := s.send(e); err != nil {
				return nil, err
			}
		}
	}
}

// send writes one event, unless the filter leaves it out.
func (s *stream) send(e *projection.Event) error {
	switch {
	case e.Change != nil:
		if !s.filter.lets("change", e.Change.Cluster, e.Change.Config.Namespace) ||
			e.Change.Type == reloader.ChangeBaseline && !s.filter.IncludeBaselines {
			return nil
		}
		return s.write("change", e.Body(s.renderEvent))
	case e.Reload != nil:
		return s.writeIf("reload", e.Reload.Cluster, e.Reload.Workload.Namespace, e)
	case e.Workload != nil:
		return s.writeIf("workload", e.Workload.Cluster, e.Workload.Workload.Namespace, e)
	case e.Gone != nil:
		return s.writeIf("workloadGone", e.Gone.Cluster, e.Gone.Workload.Namespace, e)
	case e.Cluster != "":
		return s.cluster(e.Cluster)
	}
	return s.resync("Rebuilt")
}

func (s *stream) writeIf(name, cluster, namespace string, e *projection.Event) error {
	if !s.filter.lets(name, cluster, namespace) {
		return nil
	}
	return s.write(name, e.Body(s.renderEvent))
}

func (s *stream) cluster(name string) error {
	c, ok := s.records.Cluster(name)
	if !ok || !s.clusters || !s.filter.lets("cluster", name, "") {
		return nil
	}
	return s.write("cluster", render(view.FromCluster(c, time.Now())))
}

func (s *stream) resync(reason string) error {
	return s.write("resync", render(view.Resync{Reason: reason}))
}

func (s *stream) write(name string, data []byte) error {
	return s.w.event(s.records.Incarnation()+"-"+strconv.FormatUint(s.at, 10), name, data)
}

// lets reports whether the filter lets an event through. An event about a whole cluster has no namespace.
func (f *EventFilter) lets(name, cluster, namespace string) bool {
	return is(f.Cluster, cluster) && (namespace == "" || is(f.Namespace, namespace)) && f.wants(name)
}

func (f *EventFilter) wants(name string) bool {
	if len(f.Types) == 0 {
		return true
	}
	for _, t := range f.Types {
		if t == name {
			return true
		}
	}
	return false
}

func (s *stream) renderEvent(e *projection.Event) []byte {
	switch {
	case e.Change != nil:
		return render(e.Change)
	case e.Reload != nil:
		return render(view.FromReload(e.Reload))
	case e.Workload != nil:
		c, _ := s.records.Cluster(e.Workload.Cluster)
		return render(view.FromWorkload(e.Workload, c, time.Now()))
	}
	return render(view.WorkloadGone{Cluster: e.Gone.Cluster, Workload: e.Gone.Workload})
}

// render returns v as one line of JSON. Views are plain data, so that this cannot fail but for times that no clock shows.
func render(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Appendf(nil, `{"error":%q}`, "this cannot be shown")
	}
	return data
}

// describeEvents says what streamEvents answers with.
func describeEvents(h huma.API) map[string]*huma.Response {
	var kinds []*huma.Schema
	for _, kind := range eventKinds {
		kinds = append(kinds, &huma.Schema{
			Title: "Event " + kind.name, Type: huma.TypeObject, Description: kind.doc, Required: []string{"id", "event", "data"},
			Properties: map[string]*huma.Schema{
				"id":    {Type: huma.TypeString, Description: "What to pass as Last-Event-ID to go on after this event."},
				"event": {Type: huma.TypeString, Enum: []any{kind.name}},
				"data":  kind.schema(h),
			},
		})
	}
	return map[string]*huma.Response{"200": {
		Description: "Server-sent events, until either side goes. Lines that begin with a colon say no more than that the server is there.",
		Content: map[string]*huma.MediaType{
			eventStream: {Schema: &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{OneOf: kinds}}},
		},
	}}
}
