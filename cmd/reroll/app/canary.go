package app

import (
	"slices"

	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/dispatcher/canary"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
)

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
