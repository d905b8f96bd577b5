package projection

import (
	"cmp"
	"slices"

	"github.com/reroll-dev/reroll/reloader"
)

// ConfigKey names a config among those of all clusters. Make one with KeyOf.
type ConfigKey struct {
	// Cluster is the config's owner, which Config does not name again.
	Cluster string
	Config  reloader.Config
}

// KeyOf returns the key of the config that a record of a cluster names: one of that cluster, or one of another that is followed there.
func KeyOf(cluster string, c reloader.Config) ConfigKey {
	owner := cmp.Or(c.Cluster, cluster)
	c.Cluster = ""
	return ConfigKey{Cluster: owner, Config: c}
}

// ConfigState is what is known of one config.
type ConfigState struct {
	Key ConfigKey
	// Latest is its newest change or baseline on record, also if the listing of changes has dropped it; nil if there is none.
	Latest *reloader.Change
	// Dependents are the workloads that ask for it, in order: those of its cluster, and those of others that follow it.
	Dependents []WorkloadKey
}

// configs has every config that a workload asks for, or that a change is on record of. It is plain data: a Projection guards it.
type configs map[ConfigKey]*config

type config struct {
	latest     *reloader.Change
	seq        uint64
	dependents []*entry
}

func (c configs) at(key ConfigKey) *config {
	e, ok := c[key]
	if !ok {
		e = &config{}
		c[key] = e
	}
	return e
}

func (c configs) get(key ConfigKey) (*ConfigState, bool) {
	e, ok := c[key]
	if !ok {
		return nil, false
	}
	found := &ConfigState{Key: key, Latest: e.latest}
	for _, w := range e.dependents {
		found.Dependents = append(found.Dependents, w.key())
	}
	return found, true
}

// changed records a change. A report about a followed config of another cluster counts only without one from the owner.
func (c configs) changed(seq uint64, change *reloader.Change) {
	key := KeyOf(change.Cluster, change.Config)
	e := c.at(key)
	if e.latest != nil {
		own, before := change.Cluster == key.Cluster, e.latest.Cluster == key.Cluster
		if !own && before || own == before && seq < e.seq {
			return
		}
	}
	e.seq, e.latest = seq, change
}

// dropped forgets an unused config whose newest change is no longer on record.
func (c configs) dropped(change *reloader.Change) {
	key := KeyOf(change.Cluster, change.Config)
	if e, ok := c[key]; ok && e.latest == change && len(e.dependents) == 0 {
		delete(c, key)
	}
}

// link says that w has asked for what old says, and now asks for what next says. Each may be nil.
func (c configs) link(w *entry, old, next *reloader.WorkloadRecord) {
	key, asked := w.key(), map[ConfigKey]bool{}
	if next != nil {
		for _, edge := range next.Edges {
			of := KeyOf(key.Cluster, edge.Config)
			asked[of] = true
			e := c.at(of)
			if at, known := find(e.dependents, key); !known {
				e.dependents = slices.Insert(e.dependents, at, w)
			}
		}
	}
	if old == nil {
		return
	}
	for _, edge := range old.Edges {
		of := KeyOf(key.Cluster, edge.Config)
		if e, ok := c[of]; ok && !asked[of] {
			if at, known := find(e.dependents, key); known {
				e.dependents = slices.Delete(e.dependents, at, at+1)
			}
			if e.latest == nil && len(e.dependents) == 0 {
				delete(c, of)
			}
		}
	}
}
