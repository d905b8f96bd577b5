package projection

import (
	"slices"
	"sync"

	"github.com/reroll-dev/reroll/reloader"
)

// causes finds the reloads that a change caused, among those that are kept.
type causes struct {
	mu       sync.RWMutex
	byChange map[string][]*entry[reloader.Reload]
}

func newCauses() *causes { return &causes{byChange: map[string][]*entry[reloader.Reload]{}} }

// moved follows what comes into and goes from the history of reloads.
func (c *causes) moved(e *entry[reloader.Reload], old, next *reloader.Reload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old != nil {
		for _, cause := range old.Causes {
			c.drop(cause.ChangeID, e)
		}
	}
	if next != nil {
		for _, cause := range next.Causes {
			if !slices.Contains(c.byChange[cause.ChangeID], e) {
				c.byChange[cause.ChangeID] = append(c.byChange[cause.ChangeID], e)
			}
		}
	}
}

func (c *causes) drop(change string, e *entry[reloader.Reload]) {
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
func (c *causes) of(change string) []*reloader.Reload {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var reloads []*reloader.Reload
	for _, e := range c.byChange[change] {
		reloads = append(reloads, e.value.Load())
	}
	return reloads
}
