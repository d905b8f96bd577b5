package app

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/cmd/reroll/tracing"
	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

// trace has it told how far changes get, if the environment names a collector. Otherwise nothing stands between the parts and the queue.
func (p *program) trace(ctx context.Context) error {
	if !tracing.Wanted() {
		return nil
	}
	tracer, err := tracing.New(ctx, p.role.name, p.version, p.logger)
	if err != nil {
		return err
	}
	p.tracer = tracer
	p.onEnd("spans", tracer.Close)
	return nil
}

// hintsTo returns the sink next, and has it told of what it stores if that is wanted.
func (p *program) hintsTo(next ingest.Sink) ingest.Sink {
	if p.tracer == nil {
		return next
	}
	return tracedSink{next, p.tracer}
}

// recordsTo has it told of what a dispatcher stores if that is wanted.
func (p *program) recordsTo(o *dispatcher.Options) {
	if p.tracer != nil {
		o.Changes, o.Records, o.Traced = tracedChanges{o.Changes, p.tracer}, tracedRecords{o.Records, p.tracer}, true
	}
}

type tracedSink struct {
	next   ingest.Sink
	tracer *tracing.Tracer
}

// Put stores hints and tells of it.
func (s tracedSink) Put(ctx context.Context, hints []reloader.Hint) error {
	start := time.Now()
	err := s.next.Put(ctx, hints)
	s.tracer.Hints(hints, start, time.Now(), err)
	return err
}

type tracedChanges struct {
	dispatcher.Changes
	tracer *tracing.Tracer
}

// AppendChange stores c and tells of it.
func (s tracedChanges) AppendChange(ctx context.Context, c reloader.Change, expectedLast uint64) (uint64, error) {
	sequence, err := s.Changes.AppendChange(ctx, c, expectedLast)
	if err == nil {
		s.tracer.Change(c, time.Now())
	}
	return sequence, err
}

type tracedRecords struct {
	dispatcher.Records
	tracer *tracing.Tracer
}

// AppendReload stores r and tells of it.
func (s tracedRecords) AppendReload(ctx context.Context, r reloader.Reload) error {
	err := s.Records.AppendReload(ctx, r)
	if err == nil {
		s.tracer.Reload(r, time.Now())
	}
	return err
}
