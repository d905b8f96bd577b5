package projection

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
)

// Records that methods return are shared: they must not be written to.

// Watch returns a watch of what changes from now on, which must be ended.
func (p *Projection) Watch(interest Interest) *Watch { return p.feed.watch(interest) }

// CaughtUp reports whether everything that was stored is known.
func (p *Projection) CaughtUp() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.caughtUp
}

// ChangesNamed returns the changes of that ID, by cluster: one, unless a cluster took the ID of another's.
func (p *Projection) ChangesNamed(id string) []*reloader.Change {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.changes.named(id)
}

// ReloadsNamed returns the newest reload of that ID in each cluster, by cluster.
func (p *Projection) ReloadsNamed(id string) []*reloader.Reload {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.reloads.named(id)
}

// ReloadsOf returns the reloads that a change caused, in its cluster and in those that follow its config, oldest first, among those that are
// kept.
func (p *Projection) ReloadsOf(change *reloader.Change) (found []*reloader.Reload) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, s := range p.causes[recordKey{change.Cluster, change.ID}] {
		found = append(found, s.value.Load())
	}
	return found
}

// Workload returns the record of one workload.
func (p *Projection) Workload(key WorkloadKey) (*reloader.WorkloadRecord, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.workloads.get(key)
}

// Config returns what is known of one config.
func (p *Projection) Config(key ConfigKey) (*ConfigState, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.configs.get(key)
}

// Cluster returns what is known of the cluster of that name.
func (p *Projection) Cluster(name string) (*ClusterState, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	at, known := p.findCluster(name)
	if !known {
		return nil, false
	}
	return p.clusters[at], true
}

// Clusters returns what is known of every cluster, by name.
func (p *Projection) Clusters() []*ClusterState {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Clone(p.clusters)
}

// HasCluster reports whether anything is known of the cluster of that name, be it that a config of it is followed.
func (p *Projection) HasCluster(name string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if _, known := p.findCluster(name); known {
		return true
	}
	for key := range p.configs {
		if key.Cluster == name {
			return true
		}
	}
	return false
}

// Changes returns up to limit changes that match, newest first, from a place on; the empty one starts at the newest.
// The error is ErrExpired, ErrMalformed or nil.
func (p *Projection) Changes(from string, limit int, match func(*reloader.Change) bool) (Page[reloader.Change], error) {
	p.mu.RLock()
	slots := p.changes.slots
	p.mu.RUnlock()
	return p.changes.page(slots, from, limit, match)
}

// Reloads is to reloads what Changes is to changes.
func (p *Projection) Reloads(from string, limit int, match func(*reloader.Reload) bool) (Page[reloader.Reload], error) {
	p.mu.RLock()
	slots := p.reloads.slots
	p.mu.RUnlock()
	return p.reloads.page(slots, from, limit, match)
}

// Workloads is to workloads what Changes is to changes, in the order of WorkloadKey.Compare. A place there does not expire.
func (p *Projection) Workloads(from string, limit int, match func(*reloader.WorkloadRecord) bool) (Page[reloader.WorkloadRecord], error) {
	p.mu.RLock()
	sorted := p.workloads.sorted
	p.mu.RUnlock()
	if sorted == nil {
		p.mu.Lock()
		sorted = p.workloads.inOrder()
		p.mu.Unlock()
	}
	return workloadPage(sorted, from, limit, match)
}
