package app

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// statusTime bounds one try to store the status. The next one comes anyway.
const statusTime = 10 * time.Second

// status is what the dispatcher's process adds to what the dispatcher says about its cluster.
type status struct {
	started time.Time
	// news asks for a status out of turn.
	news chan struct{}

	mu      sync.Mutex
	sources map[reloader.Source]reloader.SourceStatus
}

func newStatus() *status {
	return &status{started: time.Now(), news: make(chan struct{}, 1), sources: map[reloader.Source]reloader.SourceStatus{}}
}

// hurry asks for a status soon: something has changed that people wait to see.
func (s *status) hurry() {
	select {
	case s.news <- struct{}{}:
	default: // one is due already
	}
}

func (s *status) heard(h reloader.Hint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	source := s.sources[h.Source]
	source.Source = h.Source
	source.Hints++
	if h.Received.After(source.LastAt) {
		source.LastAt = h.Received
	}
	s.sources[h.Source] = source
}

func (s *status) list() (sources []reloader.SourceStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.sources)) {
		sources = append(sources, s.sources[name])
	}
	return sources
}

// publishStatus stores the cluster's status again and again until ctx ends. One that could not be stored is left to the next.
func (p *program) publishStatus(ctx context.Context, cluster *kube.Cluster, d *dispatcher.Dispatcher) {
	tick := time.NewTicker(reloader.ClusterStatusInterval)
	defer tick.Stop()
	for {
		if err := p.storeStatus(ctx, cluster, d); err != nil && ctx.Err() == nil {
			p.logger.Warn("the status of the cluster could not be stored", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-p.status.news:
		}
	}
}

func (p *program) storeStatus(ctx context.Context, cluster *kube.Cluster, d *dispatcher.Dispatcher) error {
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	s := d.Status()
	s.Namespace = cluster.Namespace
	s.UID, s.Version, s.Instance, s.StartedAt = cluster.UID, p.version, p.settings.Pod.Name, p.status.started
	s.Source = p.settings.Source
	s.Sources, s.Faults = p.status.list(), p.health.faults()
	s.HintsPending, _ = p.queue.HintsPending(ctx, p.settings.ClusterName) // 0 if NATS does not say
	if p.canary != nil {
		s.Feeds = p.canary.Status()
	}
	return p.queue.PutClusterStatus(ctx, s)
}

func (h *health) faults() (faults []string) {
	for _, check := range h.state() {
		if check.Err != nil {
			faults = append(faults, check.Name+": "+check.Err.Error())
		}
	}
	return faults
}
