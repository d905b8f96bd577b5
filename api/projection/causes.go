package projection

import (
	"cmp"
	"slices"
	"sync"

	"github.com/reroll-dev/reroll/reloader"
)

// causes finds the reloads that a change caused, among those that are kept.
type causes struct {
	mu       sync.RWMutex
	byChange map[recordKey][]*entry[reloader.Reload]
}

func newCauses() *causes { return &causes{byChange: map[recordKey][]*entry[reloader.Reload]{}} }

// moved follows what comes into and goes from the history of reloads.
func (c *causes) moved(e *entry[reloader.Reload], old, next *reloader.Reload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old != nil {
		for i := range old.Causes {
			c.drop(causedBy(old.Cluster, &old.Causes[i]), e)
		}
	}
	if next != nil {
		for i := range next.Causes {
			c.put(causedBy(next.Cluster, &next.Causes[i]), e)
		}
	}
}

// causedBy returns which change a cause of a reload in a cluster is of: one of that cluster, or of the owner of the config if that is followed.
func causedBy(cluster string, c *reloader.Cause) recordKey {
	return recordKey{cmp.Or(c.Config.Cluster, cluster), c.ChangeID}
}

// put keeps the reloads of a change in their order, which a later word about one of them does not alter.
func (c *causes) put(change recordKey, e *entry[reloader.Reload]) {
	known := c.byChange[change]
	at, found := slices.BinarySearchFunc(known, e.seq, func(e *entry[reloader.Reload], seq uint64) int { return cmp.Compare(e.seq, seq) })
	if !found {
		c.byChange[change] = slices.Insert(known, at, e)
	}
}

func (c *causes) drop(change recordKey, e *entry[reloader.Reload]) {
	known := c.byChange[change]
	i := slices.Index(known, e)
	switch {
	case i < 0:
	case len(known) == 1:
		delete(c.byChange, change)
	default:
		c.byChange[change] = slices.Delete(known, i, i+1)
	}
}

// of returns the reloads that a change caused, oldest first.
func (c *causes) of(change recordKey) []*reloader.Reload {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var reloads []*reloader.Reload
	for _, e := range c.byChange[change] {
		reloads = append(reloads, e.value.Load())
	}
	return reloads
}
