package projection

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
)

// share makes a change share with the one before it what both say: the content between them, and often which keys somebody edits.
func (p *Projection) share(c *reloader.Change) {
	before := p.configs.latest(KeyOf(c.Cluster, c.Config))
	if before == nil {
		return
	}
	if before.newSum == c.Old.Sum {
		c.Old.Sum = before.newSum
	}
	if slices.Equal(before.keys, c.Keys) && c.Keys != nil {
		c.Keys = before.keys
	}
}
