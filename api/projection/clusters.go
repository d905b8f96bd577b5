package projection

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/reroll-dev/reroll/reloader"
)

// ClusterState is what is known of one cluster.
type ClusterState struct {
	Name string
	// Status is what its dispatcher published last; nil if it never has.
	Status *reloader.ClusterStatus
	// LastChange is the newest change that is no baseline, LastReload the newest reload; nil if none is on record.
	LastChange *reloader.Change
	LastReload *reloader.Reload
	// Positions are how far the streams of the cluster are at this hub; none if this is no hub.
	Positions map[string]reloader.Position
	// Workloads is how many are on record.
	Workloads int

	changeSeq, reloadSeq uint64
}

// clusters holds every cluster that some record has told of.
type clusters struct {
	mu     sync.RWMutex
	byName map[string]*ClusterState
}

func newClusters() *clusters { return &clusters{byName: map[string]*ClusterState{}} }

// update changes what is known of a cluster, and forgets it if that is nothing.
func (c *clusters) update(name string, change func(*ClusterState)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.byName[name]
	if !ok {
		s = &ClusterState{Name: name}
		c.byName[name] = s
	}
	change(s)
	c.prune(s)
}

func (c *clusters) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.byName)
}

// prune forgets a cluster that nothing tells of. The caller holds mu.
func (c *clusters) prune(s *ClusterState) {
	if s.Status == nil && s.LastChange == nil && s.LastReload == nil && s.Workloads == 0 && len(s.Positions) == 0 {
		delete(c.byName, s.Name)
	}
}

func (c *clusters) changed(seq uint64, change *reloader.Change) {
	if change.Type == reloader.ChangeBaseline {
		return
	}
	c.update(change.Cluster, func(s *ClusterState) {
		if seq >= s.changeSeq {
			s.LastChange, s.changeSeq = change, seq
		}
	})
}

func (c *clusters) reloaded(seq uint64, reload *reloader.Reload) {
	c.update(reload.Cluster, func(s *ClusterState) {
		if seq >= s.reloadSeq {
			s.LastReload, s.reloadSeq = reload, seq
		}
	})
}

// get and list return copies.
func (c *clusters) get(name string) (*ClusterState, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s, ok := c.byName[name]
	if !ok {
		return nil, false
	}
	found := *s
	return &found, true
}

func (c *clusters) list() []*ClusterState {
	c.mu.RLock()
	defer c.mu.RUnlock()
	list := make([]*ClusterState, 0, len(c.byName))
	for s := range maps.Values(c.byName) {
		found := *s
		list = append(list, &found)
	}
	slices.SortFunc(list, func(a, b *ClusterState) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
