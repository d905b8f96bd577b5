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
	byChange map[recordKey][]*entry[packedReload]
}

func newCauses() *causes { return &causes{byChange: map[recordKey][]*entry[packedReload]{}} }

// moved follows what comes into and goes from the history of reloads.
func (c *causes) moved(e *entry[packedReload], old, next *packedReload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old != nil {
		for _, cause := range old.causes {
			c.drop(cause.of(old.key().cluster), e)
		}
	}
	if next != nil {
		for _, cause := range next.causes {
			c.put(cause.of(next.key().cluster), e)
		}
	}
}

// put keeps the reloads of a change in their order, which a later word about one of them does not alter.
func (c *causes) put(change recordKey, e *entry[packedReload]) {
	known := c.byChange[change]
	at, found := slices.BinarySearchFunc(known, e.seq, func(e *entry[packedReload], seq uint64) int { return cmp.Compare(e.seq, seq) })
	if !found {
		c.byChange[change] = slices.Insert(known, at, e)
	}
}

func (c *causes) drop(change recordKey, e *entry[packedReload]) {
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
		r := new(reloader.Reload)
		e.value.Load().open(r)
		reloads = append(reloads, r)
	}
	return reloads
}
