package app

import (
	"log/slog"
	"testing"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/ingest"
)

// TestNothingStandsBetweenUnlessSpansAreWanted: who wants no spans pays nothing for them.
func TestNothingStandsBetweenUnlessSpansAreWanted(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	p := &program{house: newHouse(slog.New(slog.DiscardHandler)), logger: slog.New(slog.DiscardHandler)}
	if err := p.trace(t.Context()); err != nil || p.tracer != nil {
		t.Fatalf("a tracer runs that nobody wants: %v", err)
	}
	if _, plain := p.hintsTo(nowhere{}).(nowhere); !plain {
		t.Error("hints take a detour")
	}
	o := dispatcher.Options{}
	p.recordsTo(&o)
	if o.Changes != nil || o.Records != nil {
		t.Error("records take a detour")
	}

	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	if err := p.trace(t.Context()); err != nil {
		t.Fatal(err)
	}
	var sink ingest.Sink = nowhere{}
	if sink = p.hintsTo(sink); sink == ingest.Sink(nowhere{}) {
		t.Error("nothing is told of hints although somebody wants to know")
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}
