// Package fleet lets workloads follow configs of other clusters.
//
// The owner of a config looks at it and sends a Copy of its newest change to each cluster that wants it and that the annotation
// reroll.dev/followers names. A copy has fingerprints and no content. In the cluster of the follower the newest copy takes the place of a look at
// a live object.
//
// It needs values from the dispatcher:
//
//   - which configs of other clusters the workloads of each namespace want (Follow),
//   - what the hub brings: copies of followed configs (Receive) and what other clusters want here (Wanted),
//   - which configs of this cluster hints are about, and which have a new change (Touched).
//
// It needs ports: Configs looks at configs of this cluster, Queue has those that are due for Export, Copies sends to other clusters, and News
// reports to the dispatcher that a followed config has another copy.
//
// If a config lets no cluster follow, only its metadata is read, and nothing is recorded or sent, no matter which cluster asks how often.
package fleet

import (
	"sync"

	"golang.org/x/time/rate"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/live"
)

// Options configure a Fleet. All fields but Copies are required.
type Options struct {
	Cluster string
	Configs Configs
	Queue   Queue
	// News is called when another copy of a followed config has come; Newest returns it.
	News func(c reloader.Config)
	// Copies is nil without a hub.
	Copies Copies
}

// Fleet follows configs of other clusters, and exports those of this one. Its methods are safe for concurrent use.
type Fleet struct {
	Options

	mu sync.Mutex // guards the rest
	// asked has the number of each config of another cluster that its owner is asked for, and leftOut those that no owner is asked for, since too many
	// are wanted of it. copies has the newest copy of each asked config.
	asked   map[reloader.Config]uint64
	leftOut map[reloader.Config]struct{}
	copies  map[reloader.Config]received
	// exports are the configs of this cluster that clusters want to follow. limits bounds, by cluster, how often configs are looked at because it asks.
	exports map[reloader.Config]*export
	limits  map[string]*rate.Limiter
}

// New returns a Fleet that follows and exports nothing yet.
func New(o Options) *Fleet {
	return &Fleet{
		Options: o, asked: map[reloader.Config]uint64{}, copies: map[reloader.Config]received{},
		exports: map[reloader.Config]*export{}, limits: map[string]*rate.Limiter{},
	}
}

// Exports reports whether c is exported: the last look found that a cluster that wants it may follow it. The dispatcher must keep looking at it.
func (f *Fleet) Exports(c reloader.Config) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.exports[c]
	return e != nil && e.open
}

// ExportsIn returns the configs of a kind and namespace that Exports reports.
func (f *Fleet) ExportsIn(kind reloader.ConfigKind, namespace string) (found []reloader.Config) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c, e := range f.exports {
		if e.open && c.Kind == kind && c.Namespace == namespace {
			found = append(found, c)
		}
	}
	return found
}

// Lets reports whether c, if it had that metadata, would let some cluster follow that wants to.
func (f *Fleet) Lets(c reloader.Config, m live.Meta) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.exports[c]
	return e != nil && lets(m, e.targets)
}

// Allows reports whether a config with that metadata lets workloads of a cluster follow it.
func Allows(m live.Meta, cluster string) bool {
	return !m.Unselected && dialect.MayFollow(m.Annotations, cluster)
}
