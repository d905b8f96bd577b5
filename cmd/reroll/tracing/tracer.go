package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// The variables of the environment that say where spans go, and those that turn them off or ask for something else.
const (
	endpointVariable       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpointVariable = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	protocolVariable       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProtocolVariable = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	exporterVariable       = "OTEL_TRACES_EXPORTER"
	disabledVariable       = "OTEL_SDK_DISABLED"
	onlyProtocol           = "http/protobuf"
)

// Wanted reports whether the environment names a collector for spans.
func Wanted() bool {
	return (os.Getenv(endpointVariable) != "" || os.Getenv(tracesEndpointVariable) != "") &&
		os.Getenv(exporterVariable) != "none" && !strings.EqualFold(os.Getenv(disabledVariable), "true")
}

// Tracer makes spans. Make one with New, and close it.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// New returns a tracer that sends spans to where the environment says, by OTLP over HTTP. role and version tell its process from others.
// It fails if the environment asks for what it cannot do; that the collector is away is no error, and logged when spans are lost.
func New(ctx context.Context, role, version string, logger *slog.Logger) (*Tracer, error) {
	for _, name := range []string{protocolVariable, tracesProtocolVariable} {
		if protocol := os.Getenv(name); protocol != "" && protocol != onlyProtocol {
			return nil, fmt.Errorf("%s=%s: spans are sent by %s alone", name, protocol, onlyProtocol)
		}
	}
	if exporter := os.Getenv(exporterVariable); exporter != "" && exporter != "otlp" {
		return nil, fmt.Errorf("%s=%s: spans are sent by otlp alone", exporterVariable, exporter)
	}
	// The library has no other place for what goes wrong behind the back of whoever ends a span.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("spans are lost", "error", err) }))
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("send spans: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName("reroll-"+role), semconv.ServiceNamespace("reroll"), semconv.ServiceVersion(version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv(),
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("describe the sender of spans: %w", err), exporter.Shutdown(ctx))
	}
	return newTracer(about, sdktrace.WithBatcher(exporter)), nil
}

func newTracer(about *resource.Resource, to sdktrace.TracerProviderOption) *Tracer {
	provider := sdktrace.NewTracerProvider(to, sdktrace.WithResource(about), sdktrace.WithIDGenerator(givenIDs{}))
	return &Tracer{provider: provider, tracer: provider.Tracer("github.com/reroll-dev/reroll")}
}

// Close sends the spans that are left, as long as ctx lasts.
func (t *Tracer) Close(ctx context.Context) error {
	// Whoever ends cannot wait for a collector that is away, and has nobody to tell.
	if err := t.provider.Shutdown(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("send the last spans: %w", err)
	}
	return nil
}

// span is one stage. own is the traceparent of the span itself, and parent that of the one above it; empty for the first of a trace.
type span struct {
	name        string
	own, parent string
	start, end  time.Time
	kind        trace.SpanKind
	options     []trace.SpanStartOption
}

func (t *Tracer) tell(s span, fault error) {
	own, ok := parse(s.own)
	if !ok {
		return
	}
	ctx := context.WithValue(context.Background(), idsKey{}, own)
	if above, ok := parse(s.parent); ok {
		ctx = trace.ContextWithRemoteSpanContext(ctx, above)
	}
	if s.end.Before(s.start) {
		s.start = s.end // clocks of several machines
	}
	_, told := t.tracer.Start(ctx, s.name, append(s.options, trace.WithTimestamp(s.start), trace.WithSpanKind(s.kind))...)
	if fault != nil {
		told.SetStatus(codes.Error, fault.Error())
	}
	told.End(trace.WithTimestamp(s.end))
}
