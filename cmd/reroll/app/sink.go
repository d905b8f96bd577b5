package app

import (
	"context"
	"slices"

	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

// sink returns where hints go: the queue, by way of the dispatcher of this process. Redaction comes first.
func (p *program) sink() ingest.Sink {
	var sink ingest.Sink = p.queue
	if p.settings.Runs(config.Dispatches) {
		sink = overheard{sink, p}
	}
	if p.settings.RedactActors {
		sink = redacting{sink}
	}
	return sink
}

// overheard has the dispatcher of this process look into hints while they are being stored. It drops those about the ledger, which the dispatcher
// itself writes.
type overheard struct {
	next ingest.Sink
	p    *program
}

// Put stores hints.
func (s overheard) Put(ctx context.Context, hints []reloader.Hint) error {
	if d := s.p.dispatcher.Load(); d != nil {
		hints = slices.DeleteFunc(slices.Clone(hints), func(h reloader.Hint) bool {
			return h.Cluster == s.p.settings.ClusterName && s.p.ledger.Holds(h.Config)
		})
		if len(hints) == 0 {
			return nil
		}
		d.Overhear(hints)
	}
	return s.next.Put(ctx, hints)
}
