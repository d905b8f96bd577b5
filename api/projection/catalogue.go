package projection

import (
	"cmp"
	"maps"
	"slices"
	"sync"

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

// configEntry is the place of one config.
type configEntry struct {
	key        ConfigKey
	latest     *reloader.Change
	seq        uint64
	dependents map[WorkloadKey]struct{}
}

// catalogue holds every config that some change or some workload has told of.
type catalogue struct {
	mu      sync.RWMutex
	entries map[ConfigKey]*configEntry
}

func newCatalogue() *catalogue { return &catalogue{entries: map[ConfigKey]*configEntry{}} }

// at returns the place of a config, and makes it if need be. The caller holds mu.
func (c *catalogue) at(key ConfigKey) *configEntry {
	e, ok := c.entries[key]
	if !ok {
		e = &configEntry{key: key, dependents: map[WorkloadKey]struct{}{}}
		c.entries[key] = e
	}
	return e
}

// prune forgets a config that nothing tells of any more. The caller holds mu.
func (c *catalogue) prune(e *configEntry) {
	if e.latest == nil && len(e.dependents) == 0 {
		delete(c.entries, e.key)
	}
}

func (c *catalogue) changed(seq uint64, change *reloader.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.at(KeyOf(change.Cluster, change.Config))
	switch own := e.own(change); {
	case e.latest != nil && own != e.own(e.latest) && !own: // a follower's word, beside the owner's
	case e.latest != nil && own == e.own(e.latest) && seq < e.seq:
	default:
		e.seq, e.latest = seq, change
	}
}

// own reports whether a change of the config was recorded by the cluster that owns it, and not by one that follows it. What a follower says is
// shown only where the owner says nothing.
func (e *configEntry) own(change *reloader.Change) bool { return change.Cluster == e.key.Cluster }

// linked says that a workload has asked for what old says, and now asks for what next says. Each may be nil.
func (c *catalogue) linked(key WorkloadKey, old, next *reloader.WorkloadRecord) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if next != nil {
		for _, edge := range next.Edges {
			c.at(KeyOf(key.Cluster, edge.Config)).dependents[key] = struct{}{}
		}
	}
	if old == nil {
		return
	}
	for _, edge := range old.Edges {
		of := KeyOf(key.Cluster, edge.Config)
		if next != nil && slices.ContainsFunc(next.Edges, func(e reloader.Edge) bool { return KeyOf(key.Cluster, e.Config) == of }) {
			continue
		}
		if e, ok := c.entries[of]; ok {
			delete(e.dependents, key)
			c.prune(e)
		}
	}
}

func (c *catalogue) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
}

func (c *catalogue) get(key ConfigKey) (*ConfigState, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[key]
	if !ok {
		return nil, false
	}
	return e.state(), true
}

// hasCluster reports whether a config of that cluster is known.
func (c *catalogue) hasCluster(name string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for key := range c.entries {
		if key.Cluster == name {
			return true
		}
	}
	return false
}

func (e *configEntry) state() *ConfigState {
	return &ConfigState{Key: e.key, Latest: e.latest, Dependents: slices.SortedFunc(maps.Keys(e.dependents), WorkloadKey.Compare)}
}
