package app

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/dispatcher/canary"
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

// startCanary makes the canary, if the settings ask for it: a dispatcher of its own cannot know that there is no audit feed. What an audit feed loses
// next to a watch is who made a change, which no sweep finds.
func (p *program) startCanary(cluster *kube.Cluster, d *dispatcher.Dispatcher) {
	s := p.settings
	if s.Ingest.CanaryInterval == 0 || s.DryRun || s.Source == config.SourceWatch || s.Runs(config.Ingests) && !s.Ingests() {
		return
	}
	kinds := slices.DeleteFunc([]reloader.ConfigKind{reloader.ConfigMap, reloader.Secret}, func(k reloader.ConfigKind) bool {
		return slices.Contains(s.Scope.IgnoredConfigs(), k)
	})
	o := canary.Options{
		Interval: s.Ingest.CanaryInterval, Kinds: kinds, Servers: cluster, Suspect: d.Suspect, Logger: p.logger,
		Registerer: p.registry, News: p.status.hurry, Optional: s.Watches(),
	}
	if o.Optional {
		o.Suspect = func(string) {}
	}
	p.canary = canary.New(o)
}

func (p *program) handler(d *dispatcher.Dispatcher) func(dispatcher.Delivery) {
	return func(del dispatcher.Delivery) {
		p.status.heard(del.Hint())
		if p.canary != nil {
			p.canary.Heard(del.Hint())
		}
		d.Handle(del)
	}
}
