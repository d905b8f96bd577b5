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
	"time"

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

	mu      sync.Mutex // guards the rest
	follows follows
	exports exports
}

// New returns a Fleet that follows and exports nothing yet.
func New(o Options) *Fleet {
	return &Fleet{
		Options: o,
		follows: follows{asked: map[reloader.Config]uint64{}, copies: map[reloader.Config]received{}},
		exports: exports{queue: o.Queue, configs: map[reloader.Config]*export{}, limits: map[string]*rate.Limiter{}},
	}
}

// Follow replaces what the workloads here want to follow, by their namespace. It returns the configs that other clusters must be asked for, sorted,
// and those that are left out since this call, because too many are wanted of one cluster.
func (f *Fleet) Follow(wanted map[string][]reloader.Config) (ask []reloader.Follow, leftOut []reloader.Config) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.follows.want(wanted, time.Now())
}

// Receive takes a copy from the owner of a config, and reports whether the config is followed here; otherwise the copy is dropped. A copy that is
// older than the one before does no harm for a long time: copies come again and again.
func (f *Fleet) Receive(c reloader.Copy) (followed bool) {
	f.mu.Lock()
	followed, news := f.follows.receive(c, time.Now())
	f.mu.Unlock()
	if news {
		f.News(c.Followed())
	}
	return followed
}

// FollowError says why nothing is known of a followed config.
type FollowError struct{ reason string }

// Error implements error.
func (e FollowError) Error() string { return e.reason }

// Newest returns the newest change of c, with the config as it is called here. None of its times is later than when it came. The error is a FollowError.
func (f *Fleet) Newest(c reloader.Config) (reloader.Change, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.follows.newest(c)
}

// Wanted replaces what another cluster wants to follow here, and queues the exports for it. It ignores a cluster that wants more than
// reloader.MaxWanted configs.
func (f *Fleet) Wanted(w reloader.Want) {
	if f.Copies == nil || w.Owner != f.Cluster || w.Target == f.Cluster || len(w.Configs) > reloader.MaxWanted {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.exports.want(w, time.Now())
}

// Touched queues the export of c if a cluster wants it. It is for each hint about c and each change of c. A config without a name stands for all of
// its kind and namespace.
func (f *Fleet) Touched(c reloader.Config) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.exports.touch(c)
}

// Exports reports whether c is exported: the last look found that a cluster that wants it may follow it. The dispatcher must keep looking at it.
func (f *Fleet) Exports(c reloader.Config) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.exports.configs[c]
	return e != nil && e.open
}

// ExportsIn returns the configs of a kind and namespace that Exports reports.
func (f *Fleet) ExportsIn(kind reloader.ConfigKind, namespace string) (found []reloader.Config) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c, e := range f.exports.configs {
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
	e := f.exports.configs[c]
	return e != nil && lets(m, e.targets)
}

// Allows reports whether a config with that metadata lets workloads of a cluster follow it.
func Allows(m live.Meta, cluster string) bool {
	return !m.Unselected && dialect.MayFollow(m.Annotations, cluster)
}
