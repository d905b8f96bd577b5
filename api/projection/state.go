package projection

import "github.com/reroll-dev/reroll/reloader"

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

// PutCluster records s in place of what that cluster's dispatcher said before.
func (p *Projection) PutCluster(s reloader.ClusterStatus) {
	p.clusters.update(s.Cluster, func(state *ClusterState) { state.Status = &s })
	p.tell(&Event{Cluster: s.Cluster})
}

// ForgetChanges empties the listing of changes, for a stream that was lost: sequences of another stream say nothing about their order.
func (p *Projection) ForgetChanges() {
	p.changes.forget()
	p.configs.forgetChanges()
	p.clusters.updateAll(func(s *ClusterState) { s.LastChange, s.changeSeq = nil, 0 })
	p.tell(&Event{})
}

// ForgetReloads is to reloads what ForgetChanges is to changes.
func (p *Projection) ForgetReloads() {
	p.reloads.forget()
	p.clusters.updateAll(func(s *ClusterState) { s.LastReload, s.reloadSeq = nil, 0 })
	p.tell(&Event{})
}

// ForgetWorkloads forgets every workload.
func (p *Projection) ForgetWorkloads() {
	p.linking.Lock()
	p.workloads.forget()
	p.configs.forgetWorkloads()
	p.linking.Unlock()
	p.clusters.updateAll(func(s *ClusterState) { s.Workloads = 0 })
	p.tell(&Event{})
}

// ForgetClusters forgets what dispatchers said about themselves.
func (p *Projection) ForgetClusters() {
	p.clusters.updateAll(func(s *ClusterState) { s.Status = nil })
	p.tell(&Event{})
}

// RemoveCluster forgets what is no longer stored of a cluster that was removed.
func (p *Projection) RemoveCluster(gone reloader.ClusterGone) {
	name := gone.Cluster
	p.changes.drop(name, gone.Changes)
	p.reloads.drop(name, gone.Reloads)
	p.linking.Lock()
	removed := p.workloads.removeCluster(name, gone.Workloads)
	for _, r := range removed {
		p.configs.linked(WorkloadKey{Cluster: name, Workload: r.Workload}, r, nil)
	}
	p.configs.forgetCluster(name, gone.Changes)
	p.linking.Unlock()
	p.clusters.update(name, func(s *ClusterState) {
		s.Workloads -= len(removed)
		if s.changeSeq <= gone.Changes {
			s.LastChange, s.changeSeq = nil, 0
		}
		if s.reloadSeq <= gone.Reloads {
			s.LastReload, s.reloadSeq = nil, 0
		}
		if s.Status != nil && s.Status.Sequence <= gone.Statuses {
			s.Status = nil
		}
	})
	p.tell(&Event{})
}

// SetCaughtUp says that everything that was stored when the process began has been added.
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
