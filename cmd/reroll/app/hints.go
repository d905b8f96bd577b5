package app

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
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

// redacting takes the names and addresses of people out of hints before they are stored. The client stays: it tells writers
// apart, and a person it does not name.
type redacting struct{ next ingest.Sink }

func (r redacting) Put(ctx context.Context, hints []reloader.Hint) error {
	anonymous := make([]reloader.Hint, len(hints))
	for i, h := range hints {
		h.Actor.User, h.Actor.AuthenticatedUser, h.Actor.SourceIP = "", "", ""
		anonymous[i] = h
	}
	return r.next.Put(ctx, anonymous)
}

// touched returns the hint of a write that a watch has seen. A watch knows no user.
func touched(t kube.Touch, cluster string, now time.Time) delivered {
	at := t.At
	if at.IsZero() || at.After(now) {
		at = now
	}
	manager := t.Manager[:min(len(t.Manager), reloader.MaxFieldManagerLength)]
	return delivered{
		Cluster: cluster, Config: t.Config, Verb: t.Verb, Source: reloader.SourceWatch, Code: 200,
		Actor: reloader.Actor{FieldManager: strings.ToValidUTF8(manager, "")}, Time: at, Received: now,
	}
}

// delivered is a hint that is stored nowhere.
type delivered reloader.Hint

func (d delivered) Hint() reloader.Hint { return reloader.Hint(d) }

func (delivered) Ack() {}
