package projection

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// ReloadsOf returns the reloads that a change caused, in its cluster and in those that follow its config, oldest first, among those that are
// kept.
func (p *Projection) ReloadsOf(change *reloader.Change) []*reloader.Reload {
	return p.causes.of(recordKey{change.Cluster, change.ID})
}

// EachChange calls visit for every change that may have been verified at a time or later, newest first, and for few others. The
// records are shared: they must not be written to.
func (p *Projection) EachChange(since time.Time, visit func(*reloader.Change)) {
	p.changes.each(since, visit)
}

// EachReload is to when reloads were decided what EachChange is to changes.
func (p *Projection) EachReload(since time.Time, visit func(*reloader.Reload)) {
	p.reloads.each(since, visit)
}

// Config returns what is known of one config.
func (p *Projection) Config(key ConfigKey) (*ConfigState, bool) { return p.configs.get(key) }

// Cluster returns what is known of the cluster of that name.
func (p *Projection) Cluster(name string) (*ClusterState, bool) { return p.clusters.get(name) }

// HasCluster reports whether anything is known of the cluster of that name, be it that a config of it is followed.
func (p *Projection) HasCluster(name string) bool {
	_, ok := p.clusters.get(name)
	return ok || p.configs.hasCluster(name)
}

// Clusters returns what is known of every cluster, by name.
func (p *Projection) Clusters() []*ClusterState { return p.clusters.list() }

// Incarnation names this projection among those of other processes: numbers of events mean nothing there.
func (p *Projection) Incarnation() string { return p.feed.incarnation }

// LastEvent returns the number of the newest event. Numbers are consecutive.
func (p *Projection) LastEvent() uint64 { return p.feed.newest() }

// EventsAfter returns up to most events that follow the one numbered n, oldest first, and what is closed when the next one comes. It
// returns false if some of them are no longer kept, or n was never given out.
func (p *Projection) EventsAfter(n uint64, most int) (events []*Event, news <-chan struct{}, ok bool) {
	return p.feed.after(n, most)
}
