// Package projection keeps in memory what the API answers from: the newest changes and reloads, every workload record, and what these tell
// about each config and cluster.
//
// It promises:
//   - It is bounded. Of changes and of reloads it holds the newest by stream sequence, up to a limit each and a sixteenth more, and says ErrExpired
//     to a reader whose place in a listing is no longer kept. Of several clusters those that have the most lose their oldest, whatever the others
//     send. A record of one cluster never replaces one of another. Workloads are as many as their dispatchers publish, and configs as
//     many as workloads ask for or as there are changes on record.
//   - Records may be added in any order and more than once, as streams replay them. An older version of a record never
//     replaces a newer one, and a record keeps its place in the listing when it is updated. When a stream was lost and begins again,
//     what came of it must be forgotten first.
//   - All methods may be called from any number of goroutines. A listing takes a view of the moment it began and scans it without
//     a lock, so a long one delays no writer.
//   - Watches tell which listings change after everything stored was read, and that all have when it was, or was lost.
//   - What the API has no business to show is dropped on the way in: the fingerprints of single keys.
package projection

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/reroll-dev/reroll/reloader"
)

// DefaultReloads and DefaultChanges are how many of the newest are kept unless Limits say otherwise. A change mostly causes more than one reload,
// and a reload names its changes even when they are no longer kept.
const (
	DefaultReloads = 20_000
	DefaultChanges = 10_000
)

// placeKeys is how many keys of configs a record may name and count as one; with more it counts as several. Otherwise a tenant who edits a config
// of very many keys again and again would take all the memory.
const placeKeys = 16

// ErrExpired means that the record at a place in a listing is no longer kept, ErrMalformed that a place is none.
var (
	ErrExpired   = errors.New("this place in the listing is no longer kept")
	ErrMalformed = errors.New("the cursor is not one that this API gave out")
)

// Page is a part of a listing.
type Page[T any] struct {
	Items []*T
	// Next is the place to continue from. It is empty if no further record matches.
	Next string
}

// Limits bounds a Projection. A limit of zero means the default.
type Limits struct {
	Changes int
	Reloads int
}

// ClusterState is what is known of one cluster. It is never written to: what becomes known makes a new one.
type ClusterState struct {
	Name string
	// Status is what its dispatcher published last; nil if it never has.
	Status *reloader.ClusterStatus
	// LastChange is the newest change that is not a baseline, LastReload the newest reload; nil if none is on record.
	LastChange *reloader.Change
	LastReload *reloader.Reload
	// Positions are how far the streams of the cluster are at this hub, by their names; none if this is not a hub.
	Positions []reloader.Position
	// Workloads is how many are on record.
	Workloads int

	changeSeq, reloadSeq uint64
}

// Projection is the records, ready to be read. Make one with New.
type Projection struct {
	feed feed

	mu        sync.RWMutex
	changes   history[reloader.Change]
	reloads   history[reloader.Reload]
	workloads workloads
	configs   configs
	// clusters are in the order of their names.
	clusters []*ClusterState
	// causes has the reloads that each change on record has caused, oldest first.
	causes   map[recordKey][]*slot[reloader.Reload]
	caughtUp bool
}

// New returns an empty Projection that has not caught up.
func New(limits Limits) *Projection {
	p := &Projection{feed: feed{watches: map[*Watch]struct{}{}}}
	p.changes = history[reloader.Change]{
		limit:  cmp.Or(max(0, limits.Changes), DefaultChanges),
		key:    func(c *reloader.Change) recordKey { return recordKey{c.Cluster, c.ID} },
		places: func(c *reloader.Change) int { return 1 + len(c.Keys)/placeKeys },
		figure: figureOfChange,
		same:   func(_, _ *reloader.Change) bool { return true },
	}
	p.reloads = history[reloader.Reload]{
		limit:  cmp.Or(max(0, limits.Reloads), DefaultReloads),
		key:    func(r *reloader.Reload) recordKey { return recordKey{r.Cluster, r.ID} },
		places: placesOf,
		figure: figureOfReload,
		same:   sameReload,
	}
	p.forget()
	return p
}

func (p *Projection) forget() {
	p.changes.forget()
	p.reloads.forget()
	p.workloads = workloads{entries: map[WorkloadKey]*entry{}}
	p.configs, p.clusters, p.causes, p.caughtUp = configs{}, nil, map[recordKey][]*slot[reloader.Reload]{}, false
}

// AddChange records c, which the stream holds at seq. If a change of that ID is there already, c replaces it in its place:
// attribution was added. It keeps c's slices: the caller must not write to them afterwards.
func (p *Projection) AddChange(seq uint64, c reloader.Change) {
	c.Old.Keys, c.New.Keys = nil, nil
	shareChange(&c)
	p.write(c.Cluster, c.Config.Namespace, func() []Topic {
		m, ok := p.changes.add(seq, &c)
		if !ok {
			return nil
		}
		p.configs.changed(seq, &c)
		for _, s := range m.dropped {
			p.configs.dropped(s.value.Load())
		}
		if c.Type != reloader.ChangeBaseline {
			p.cluster(c.Cluster, func(s *ClusterState) {
				if seq >= s.changeSeq {
					s.LastChange, s.changeSeq = &c, seq
				}
			})
		}
		return []Topic{TopicChanges}
	})
}

// AddReload records r, which the stream holds at seq. If r tells more about a reload that is there already, it replaces it in
// its place. It keeps r's slices: the caller must not write to them afterwards.
func (p *Projection) AddReload(seq uint64, r reloader.Reload) {
	p.write(r.Cluster, r.Workload.Namespace, func() []Topic {
		m, ok := p.reloads.add(seq, &r)
		if !ok {
			return nil
		}
		p.uncause(m.slot, m.old)
		for _, cause := range r.Causes {
			p.cause(causedBy(r.Cluster, cause), m.slot)
		}
		for _, s := range m.dropped {
			p.uncause(s, s.value.Load())
		}
		p.cluster(r.Cluster, func(s *ClusterState) {
			if seq >= s.reloadSeq {
				s.LastReload, s.reloadSeq = &r, seq
			}
		})
		return []Topic{TopicReloads}
	})
}

// causedBy returns which change a cause of a reload in a cluster is of: one of that cluster, or of the owner of the config if that is followed.
func causedBy(cluster string, c reloader.Cause) recordKey {
	return recordKey{cmp.Or(c.Config.Cluster, cluster), c.ChangeID}
}

// cause keeps the reloads of a change in their order, which a later word about one of them does not alter.
func (p *Projection) cause(change recordKey, s *slot[reloader.Reload]) {
	known := p.causes[change]
	if at, found := p.reloads.find(known, s.seq); !found {
		p.causes[change] = slices.Insert(known, at, s)
	}
}

// uncause forgets that old, which was at s, was caused by anything. It may be nil.
func (p *Projection) uncause(s *slot[reloader.Reload], old *reloader.Reload) {
	if old == nil {
		return
	}
	for _, cause := range old.Causes {
		key := causedBy(old.Cluster, cause)
		p.causes[key] = slices.DeleteFunc(p.causes[key], func(other *slot[reloader.Reload]) bool { return other == s })
		if len(p.causes[key]) == 0 {
			delete(p.causes, key)
		}
	}
}

// PutWorkload records rec in place of what was known of that workload. It keeps rec's slices: the caller must not use them afterwards.
func (p *Projection) PutWorkload(rec reloader.WorkloadRecord) {
	shareWorkload(&rec)
	p.write(rec.Cluster, rec.Workload.Namespace, func() []Topic {
		e, old := p.workloads.put(&rec)
		p.configs.link(e, old, &rec)
		if old == nil {
			p.cluster(rec.Cluster, func(s *ClusterState) { s.Workloads++ })
		}
		return []Topic{TopicWorkloads}
	})
}

// DeleteWorkload forgets a workload, known or not.
func (p *Projection) DeleteWorkload(cluster string, ref reloader.WorkloadRef) {
	key := WorkloadKey{Cluster: cluster, Workload: ref}
	p.write(cluster, ref.Namespace, func() []Topic {
		e, known := p.workloads.entries[key]
		if !known {
			return nil
		}
		p.workloads.remove(key)
		p.configs.link(e, e.record.Load(), nil)
		p.cluster(cluster, func(s *ClusterState) { s.Workloads-- })
		return []Topic{TopicWorkloads}
	})
}

// PutPosition records how far a stream of a cluster is at this hub.
func (p *Projection) PutPosition(cluster string, at reloader.Position) {
	p.write(cluster, "", func() []Topic {
		p.cluster(cluster, func(s *ClusterState) {
			others := slices.DeleteFunc(slices.Clone(s.Positions), func(p reloader.Position) bool { return p.Of == at.Of })
			s.Positions = append(others, at)
			slices.SortFunc(s.Positions, func(a, b reloader.Position) int { return cmp.Compare(a.Of, b.Of) })
		})
		return []Topic{TopicClusters}
	})
}

// PutCluster records s in place of what that cluster's dispatcher said before.
func (p *Projection) PutCluster(s reloader.ClusterStatus) {
	p.write(s.Cluster, "", func() []Topic {
		p.cluster(s.Cluster, func(state *ClusterState) { state.Status = &s })
		return []Topic{TopicClusters}
	})
}

// cluster changes what is known of a cluster, and forgets it if that is nothing.
func (p *Projection) cluster(name string, change func(*ClusterState)) {
	at, known := p.findCluster(name)
	s := ClusterState{Name: name}
	if known {
		s = *p.clusters[at]
	}
	change(&s)
	switch nothing := s.Status == nil && s.LastChange == nil && s.LastReload == nil && s.Workloads == 0 && len(s.Positions) == 0; {
	case known && nothing:
		p.clusters = slices.Delete(p.clusters, at, at+1)
	case known:
		p.clusters[at] = &s
	case !nothing:
		p.clusters = slices.Insert(p.clusters, at, &s)
	}
}

func (p *Projection) findCluster(name string) (at int, known bool) {
	return slices.BinarySearchFunc(p.clusters, name, func(s *ClusterState, name string) int { return cmp.Compare(s.Name, name) })
}

// write changes the memory, and announces changes in a namespace of a cluster. Announcements before everything stored is read are not news.
func (p *Projection) write(cluster, namespace string, change func() []Topic) {
	p.mu.Lock()
	topics := change()
	caughtUp := p.caughtUp
	p.mu.Unlock()
	if caughtUp {
		p.feed.tell(cluster, namespace, topics)
	}
}

// Reset forgets everything, until SetCaughtUp is called again: what was stored was lost, and sequences begin again.
func (p *Projection) Reset() {
	p.mu.Lock()
	p.forget()
	p.mu.Unlock()
	p.feed.tellAll()
}

// SetCaughtUp says that everything that was stored has been added.
func (p *Projection) SetCaughtUp() {
	p.mu.Lock()
	p.caughtUp = true
	p.mu.Unlock()
	p.feed.tellAll()
}
