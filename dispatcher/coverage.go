package dispatcher

import (
	"maps"
	"slices"
	"sync"
)

// coverage is what sweeps could look at in the rounds that are the last sweepGetFactor ones, which together are of all configs.
type coverage struct {
	mu    sync.Mutex
	round int
	// unlisted are the scopes that could not be listed when that was tried last, and not because it is forbidden.
	unlisted map[scope]bool
	// read and unread are the last rounds in which a config of a scope could be read, or could not; the first round is 1.
	read, unread map[scope]int
}

func newCoverage() *coverage {
	return &coverage{unlisted: map[scope]bool{}, read: map[scope]int{}, unread: map[scope]int{}}
}

// begin begins a round of scopes, and forgets all others.
func (c *coverage) begin(scopes []scope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.round++
	gone := func(s scope) bool { return !slices.Contains(scopes, s) }
	maps.DeleteFunc(c.unlisted, func(s scope, _ bool) bool { return gone(s) })
	maps.DeleteFunc(c.read, func(s scope, _ int) bool { return gone(s) })
	maps.DeleteFunc(c.unread, func(s scope, _ int) bool { return gone(s) })
}

// list notes whether s could be listed. Who has the versions of all configs has looked at them.
func (c *coverage) list(s scope, could bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !could {
		c.unlisted[s] = true
		return
	}
	delete(c.unlisted, s)
	c.read[s] = c.round
}

// missed reports whether s could not be listed since its configs were looked at last, and takes it that they are now.
func (c *coverage) missed(s scope) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	missed := c.unlisted[s]
	delete(c.unlisted, s)
	return missed
}

// look notes whether a config of s could be read.
func (c *coverage) look(s scope, could bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if could {
		c.read[s] = c.round
	} else {
		c.unread[s] = c.round
	}
}

// whole reports whether nothing is left unlisted, and of each scope with configs that could not be read some other, or the same, could.
func (c *coverage) whole() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	recent := func(round int) bool { return round > 0 && round > c.round-sweepGetFactor }
	for s, round := range c.unread {
		if recent(round) && !recent(c.read[s]) {
			return false
		}
	}
	return len(c.unlisted) == 0
}
