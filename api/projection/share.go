package projection

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
)

// A reload repeats what its changes say, which is a third of its size. The functions here make it share that with them.

// shareDigest makes a change share the digest before it with the change that brought the config there.
func (p *Projection) shareDigest(c *reloader.Change) {
	before, ok := p.configs.latest(ConfigKey{Cluster: c.Cluster, Config: c.Config})
	if ok && before.New.Sum == c.Old.Sum {
		c.Old.Sum = before.New.Sum
	}
}

// share makes causes share what they repeat with their changes, as far as those are known.
func (p *Projection) share(causes []reloader.Cause) {
	for i := range causes {
		if change, ok := p.changes.get(causes[i].ChangeID); ok {
			shareCause(&causes[i], change)
		}
	}
}

func shareCause(cause *reloader.Cause, change *reloader.Change) {
	cause.ChangeID = change.ID
	if cause.OldSum == change.Old.Sum {
		cause.OldSum = change.Old.Sum
	}
	if cause.NewSum == change.New.Sum {
		cause.NewSum = change.New.Sum
	}
	if slices.Equal(cause.Keys, change.Keys) {
		cause.Keys = change.Keys
	}
	if slices.Equal(cause.Candidates, change.Candidates) {
		cause.Candidates = change.Candidates
	}
}

// shareAll does for every reload what share does for one that comes: at the start, a reload may come before its change.
func (p *Projection) shareAll() {
	p.reloads.replaceAll(func(r *reloader.Reload) *reloader.Reload {
		shared := *r
		shared.Causes = slices.Clone(r.Causes) // readers may hold the old ones
		p.share(shared.Causes)
		return &shared
	})
}
