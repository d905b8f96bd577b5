package tracing

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

type idsKey struct{}

// givenIDs gives each span the IDs that its context names.
type givenIDs struct{}

// NewIDs returns the IDs of the first span of a trace.
func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	given, _ := ctx.Value(idsKey{}).(trace.SpanContext)
	return given.TraceID(), given.SpanID()
}

// NewSpanID returns the ID of a span below another.
func (g givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, id := g.NewIDs(ctx)
	return id
}

// The places of the IDs in a traceparent of version 00: 00-TRACE-SPAN-FLAGS.
const (
	traceAt, traceEnd = 3, 35
	spanAt, spanEnd   = 36, 52
)

// parse returns what a traceparent names; ok is false if it is none.
func parse(parent string) (c trace.SpanContext, ok bool) {
	if len(parent) < spanEnd {
		return c, false
	}
	traceID, err := trace.TraceIDFromHex(parent[traceAt:traceEnd])
	if err != nil {
		return c, false
	}
	spanID, err := trace.SpanIDFromHex(parent[spanAt:spanEnd])
	if err != nil {
		return c, false
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: trace.FlagsSampled, Remote: true}), true
}
