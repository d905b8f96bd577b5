package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/dispatcher/canary"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// minCanaryInterval keeps canaries from being the main load of an API server.
const minCanaryInterval = time.Second

func (s *Settings) bindCanary(f *pflag.FlagSet) {
	f.DurationVar(&s.CanaryInterval, "canary-interval", time.Minute, "how often the ConfigMap and the Secret reroll-canary are updated through each API server, to check that their audit events arrive; 0 is never, as is a dry run, --source=watch or an empty --ingest-address")
}

// checkCanary checks the settings of the canary.
func (s *Settings) checkCanary() error {
	if s.CanaryInterval < 0 || s.CanaryInterval > 0 && s.CanaryInterval < minCanaryInterval {
		return fmt.Errorf("--canary-interval: %s is neither 0 nor at least %s", s.CanaryInterval, minCanaryInterval)
	}
	return nil
}

// wantsCanary reports whether a role is to watch over an audit feed. A dispatcher of its own cannot know that there is none.
func (s *Settings) wantsCanary(r role) bool {
	return s.CanaryInterval > 0 && !s.DryRun && len(s.canaryKinds()) > 0 && s.Source != sourceWatch && (!r.ingest || s.IngestAddress != "")
}

// canaryKinds returns the kinds of configs whose audit events must come in: both, but for those that do nothing.
func (s *Settings) canaryKinds() []reloader.ConfigKind {
	return slices.DeleteFunc([]reloader.ConfigKind{reloader.ConfigMap, reloader.Secret}, func(k reloader.ConfigKind) bool {
		return slices.Contains(s.IgnoredConfigs, k)
	})
}

// startCanary makes the canary that runCanary runs, if the settings ask for it. What an audit feed loses beside a watch is who made a change, which
// no sweep finds.
func (p *program) startCanary(cluster *kube.Cluster, d *dispatcher.Dispatcher) {
	s := p.settings
	if !s.wantsCanary(p.role) {
		return
	}
	o := canary.Options{
		Interval: s.CanaryInterval, Kinds: s.canaryKinds(), Servers: cluster, Suspect: d.Suspect, Logger: p.logger,
		Registerer: p.registry, News: p.status.hurry, Optional: s.watches(),
	}
	if o.Optional {
		o.Suspect = func(string) {}
	}
	p.canary = canary.New(o)
}

// runCanary sends canaries from when their hints are consumed until ctx ends.
func (p *program) runCanary(ctx context.Context, d *dispatcher.Dispatcher) {
	if retry(ctx, firstPause, d.Ready) == nil {
		p.canary.Run(ctx)
	}
}

// handler returns what takes deliveries.
func (p *program) handler(d *dispatcher.Dispatcher) func(dispatcher.Delivery) {
	return func(del dispatcher.Delivery) {
		p.status.heard(del.Hint())
		if p.canary != nil {
			p.canary.Heard(del.Hint())
		}
		d.Handle(del)
	}
}
