package projection

import (
	"maps"

	"github.com/reroll-dev/reroll/reloader"
)

// PutWorkload records rec in place of what was known of that workload.
func (p *Projection) PutWorkload(rec reloader.WorkloadRecord) {
	key := WorkloadKey{Cluster: rec.Cluster, Workload: rec.Workload}
	p.linking.Lock()
	old, known := p.workloads.get(key)
	p.workloads.put(&rec)
	p.configs.linked(key, old, &rec)
	p.linking.Unlock()
	if !known {
		p.clusters.update(rec.Cluster, func(s *ClusterState) { s.Workloads++ })
	}
	p.tell(&Event{Workload: &rec})
}

// DeleteWorkload forgets a workload. It is no error if it is not known.
func (p *Projection) DeleteWorkload(cluster string, ref reloader.WorkloadRef) {
	key := WorkloadKey{Cluster: cluster, Workload: ref}
	p.linking.Lock()
	old, known := p.workloads.get(key)
	p.workloads.remove(key)
	p.configs.linked(key, old, nil)
	p.linking.Unlock()
	if !known {
		return
	}
	p.clusters.update(cluster, func(s *ClusterState) { s.Workloads-- })
	p.tell(&Event{Gone: &key})
}

// PutPosition records how far a stream of a cluster is at this hub.
func (p *Projection) PutPosition(cluster string, at reloader.Position) {
	p.clusters.update(cluster, func(state *ClusterState) {
		state.Positions = maps.Clone(state.Positions) // states are copied without it
		if state.Positions == nil {
			state.Positions = map[string]reloader.Position{}
		}
		state.Positions[at.Of] = at
	})
	p.tell(&Event{Cluster: cluster})
}

// PutCluster records s in place of what that cluster's dispatcher said before.
func (p *Projection) PutCluster(s reloader.ClusterStatus) {
	p.clusters.update(s.Cluster, func(state *ClusterState) { state.Status = &s })
	p.tell(&Event{Cluster: s.Cluster})
}

// Reset forgets everything, until SetCaughtUp is called again: what was stored was lost, and sequences begin again.
func (p *Projection) Reset() {
	p.tell(&Event{})
	p.caughtUp.Store(false)
	p.changes.forget()
	p.reloads.forget()
	p.linking.Lock()
	p.workloads.forget()
	p.configs.forget()
	p.linking.Unlock()
	p.clusters.forget()
}

// SetCaughtUp says that everything that was stored has been added.
func (p *Projection) SetCaughtUp() {
	if p.caughtUp.CompareAndSwap(false, true) {
		p.tell(&Event{})
	}
}

// CaughtUp reports whether SetCaughtUp was called.
func (p *Projection) CaughtUp() bool { return p.caughtUp.Load() }

// tell adds an event, once everything that was stored is known: what was told of before is not new.
func (p *Projection) tell(e *Event) {
	if p.CaughtUp() {
		p.feed.add(e)
	}
}
