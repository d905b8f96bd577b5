package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/ingest/watch"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/queue"
)

const (
	// minCanaryInterval keeps canaries from being the main load of an API server.
	minCanaryInterval = time.Second
	// fallbackWait is how long the first answer to a fallback watch may take before somebody should know that there is none.
	fallbackWait = 10 * time.Second
)

func (s *Settings) bindCanary(f *pflag.FlagSet) {
	f.DurationVar(&s.CanaryInterval, "canary-interval", time.Minute, "how often the ConfigMap reroll-canary is touched through each API server, to see whether its audit events come in; 0 is never, as is a dry run or an empty --ingest-address")
	f.BoolVar(&s.FallbackWatch, "fallback-watch", false, "watch configs as --watch-configs does, for as long as canaries stay away; needs the same permissions")
}

// checkCanary checks the settings of the canary.
func (s *Settings) checkCanary(r role) error {
	if s.CanaryInterval < 0 || s.CanaryInterval > 0 && s.CanaryInterval < minCanaryInterval {
		return fmt.Errorf("--canary-interval: %s is neither 0 nor at least %s", s.CanaryInterval, minCanaryInterval)
	}
	if s.FallbackWatch && !s.DryRun && !s.wantsCanary(r) {
		return errors.New("--fallback-watch needs a canary: --canary-interval above 0, and an --ingest-address")
	}
	return nil
}

// wantsCanary reports whether a role is to watch over an audit feed. A dispatcher of its own cannot know that there is none.
func (s *Settings) wantsCanary(r role) bool {
	return s.CanaryInterval > 0 && !s.DryRun && (!r.ingest || s.IngestAddress != "")
}

// startCanary makes the canary that runCanary runs, and the source that it falls back on, if the settings ask for them.
func (p *program) startCanary(cluster *kube.Cluster, d *dispatcher.Dispatcher) {
	s := p.settings
	if !s.wantsCanary(p.role) {
		return
	}
	o := dispatcher.CanaryOptions{
		Interval: s.CanaryInterval, Cage: cluster, Suspect: d.Suspect, Logger: p.logger, Registerer: p.registry,
	}
	if s.FallbackWatch && p.watch == nil {
		source := watch.New(watch.Options{Cluster: s.ClusterName, Sink: p.queue, Logger: p.logger, Registerer: p.registry})
		p.start("fallback watch", source.Run)
		o.Meanwhile = func(ctx context.Context) { p.fallBack(ctx, cluster, source, d) }
	}
	p.canary = dispatcher.NewCanary(o)
}

// runCanary sends canaries from when their hints are consumed until ctx ends.
func (p *program) runCanary(ctx context.Context, d *dispatcher.Dispatcher) {
	if retry(ctx, firstPause, d.Ready) == nil {
		p.canary.Run(ctx)
	}
}

// handler returns what takes deliveries.
func (p *program) handler(d *dispatcher.Dispatcher) func(queue.Delivery) {
	return func(del queue.Delivery) {
		p.status.heard(del.Hint())
		if p.canary != nil {
			p.canary.Heard(del.Hint())
		}
		d.Handle(del)
	}
}

// fallBack watches configs until ctx ends. What changed before the watch began is found by a sweep.
func (p *program) fallBack(ctx context.Context, cluster *kube.Cluster, source *watch.Source, d *dispatcher.Dispatcher) {
	late := time.AfterFunc(fallbackWait, func() {
		p.logger.Warn("configs are not watched yet; list and watch on ConfigMaps and Secrets must be granted", "flag", "--fallback-watch")
	})
	defer late.Stop()
	err := cluster.WatchConfigs(ctx, func(t kube.Touch) { source.Touch(t.Config, t.Verb, t.Manager, t.At) })
	late.Stop()
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		p.logger.Warn("configs cannot be watched", "error", err)
		return
	}
	p.logger.Info("watching configs while the audit feed is silent")
	d.Suspect("the fallback watch has begun")
	<-ctx.Done()
	p.logger.Info("watching configs no more")
}
