// Package projection keeps in memory what the API answers from: the newest changes and reloads, every workload record, what these tell
// about each config and cluster, and the events by which all this came to be known.
//
// It promises:
//   - It is bounded. Of changes and of reloads it holds the newest by stream sequence, up to a limit each and a sixteenth more, and says ErrExpired
//     to a reader whose place in a listing is no longer kept. Of several clusters those that have the most lose their oldest, whatever the others
//     send. A record of one cluster never replaces one of another. Workloads are as many as their dispatchers publish, and configs as
//     many as workloads ask for or have ever changed. Of events it holds the newest few thousand.
//   - Records may be added in any order and more than once, as streams replay them. An older version of a record never
//     replaces a newer one, and a record keeps its place in the listing when it is updated. When a stream was lost and begins again,
//     what came of it is to be forgotten first.
//   - All methods may be called from any number of goroutines. A read takes a view of the moment it began and scans it without
//     a lock, so a long read delays no writer.
//   - Events are of what comes after everything stored was read, in the order in which it became known. One that sets nothing comes
//     first, and whenever a stream was lost: readers have to begin anew.
//   - What the API has no business to show is dropped on the way in: the fingerprints of single keys.
package projection

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// DefaultReloads and DefaultChanges are how many of the newest are kept unless Limits say otherwise. A change mostly causes more than one reload,
// and a reload tells of its changes also when they are no longer kept themselves.
const (
	DefaultReloads = 20_000
	DefaultChanges = 10_000
)

// placeKeys is how many keys of configs a record may name and count as one; with more it counts as several. Otherwise a tenant who edits a config
// of very many keys again and again would take all the memory.
const placeKeys = 16

// ErrExpired means that the record at a place in a listing is no longer kept.
var ErrExpired = errors.New("this place in the listing is no longer kept")

// Limits bounds a Projection. A limit of zero means the default.
type Limits struct {
	Changes int
	Reloads int
}

// Projection is the records, ready to be read. Make one with New.
type Projection struct {
	changes   *history[reloader.Change]
	reloads   *history[reloader.Reload]
	workloads *directory
	configs   *catalogue
	causes    *causes
	clusters  *clusters
	feed      *feed
	caughtUp  atomic.Bool
	// linking keeps what is known of configs in step with the workloads.
	linking sync.Mutex
}

// New returns an empty Projection that has not caught up.
func New(limits Limits) *Projection {
	p := &Projection{
		workloads: newDirectory(),
		configs:   newCatalogue(),
		causes:    newCauses(),
		clusters:  newClusters(),
		feed:      newFeed(),
	}
	p.changes = &history[reloader.Change]{
		limit: orDefault(limits.Changes, DefaultChanges), same: sameChange,
		key:    func(c *reloader.Change) recordKey { return recordKey{c.Cluster, c.ID} },
		at:     func(c *reloader.Change) time.Time { return c.VerifiedAt },
		places: func(c *reloader.Change) int { return 1 + len(c.Keys)/placeKeys },
		byKey:  map[recordKey]*entry[reloader.Change]{}, members: map[string]*member{},
	}
	p.reloads = &history[reloader.Reload]{
		limit: orDefault(limits.Reloads, DefaultReloads), same: sameReload, moved: p.causes.moved,
		key:    func(r *reloader.Reload) recordKey { return recordKey{r.Cluster, r.ID} },
		at:     func(r *reloader.Reload) time.Time { return r.DecidedAt },
		places: placesOf,
		byKey:  map[recordKey]*entry[reloader.Reload]{}, members: map[string]*member{},
	}
	return p
}

func orDefault(limit, standard int) int {
	if limit <= 0 {
		return standard
	}
	return limit
}

// AddChange records c, which the stream holds at seq. If a change of that ID is there already, c replaces it in its place:
// attribution was added. It keeps c's slices: the caller must not write to them afterwards.
func (p *Projection) AddChange(seq uint64, c reloader.Change) {
	c.Old.Keys, c.New.Keys = nil, nil
	if !p.changes.add(seq, &c) {
		return
	}
	p.configs.changed(seq, &c)
	p.clusters.changed(seq, &c)
	p.tell(&Event{Change: &c})
}

// AddReload records r, which the stream holds at seq. If r tells more about a reload that is there already, it replaces it in
// its place. It keeps r's slices: the caller must not write to them afterwards.
func (p *Projection) AddReload(seq uint64, r reloader.Reload) {
	if !p.reloads.add(seq, &r) {
		return
	}
	p.clusters.reloaded(seq, &r)
	p.tell(&Event{Reload: &r})
}

// ChangesNamed returns the changes of that ID, by cluster: one, unless a cluster took the ID of another's.
func (p *Projection) ChangesNamed(id string) []*reloader.Change { return p.changes.named(id) }

// ReloadsNamed returns the newest reload of that ID in each cluster, by cluster.
func (p *Projection) ReloadsNamed(id string) []*reloader.Reload { return p.reloads.named(id) }

// Workload returns the record of one workload.
func (p *Projection) Workload(key WorkloadKey) (*reloader.WorkloadRecord, bool) {
	return p.workloads.get(key)
}

// Changes returns up to limit changes that match, newest first, from a place on; the zero Place starts at the newest.
// The error is ErrExpired, if the record that the place names is no longer kept, or nil. The records are shared: they must not be written to.
func (p *Projection) Changes(from Place, limit int, match func(*reloader.Change) bool) (Page[reloader.Change], error) {
	return p.changes.page(from, limit, match)
}

// Reloads is to reloads what Changes is to changes.
func (p *Projection) Reloads(from Place, limit int, match func(*reloader.Reload) bool) (Page[reloader.Reload], error) {
	return p.reloads.page(from, limit, match)
}

// Workloads returns up to limit workloads that match, in the order of WorkloadKey.Compare, from after the given key; the zero
// key starts at the first. The records are shared: they must not be written to.
func (p *Projection) Workloads(after WorkloadKey, limit int, match func(*reloader.WorkloadRecord) bool) WorkloadPage {
	return p.workloads.page(after, limit, match)
}

func placesOf(r *reloader.Reload) int {
	keys := 0
	for i := range r.Causes {
		keys += 1 + len(r.Causes[i].Keys)
	}
	return 1 + keys/placeKeys
}

func sameChange(_, _ *reloader.Change) bool { return true }

// sameReload tells a later word about one reload from a later reload of the same ID. A workload that goes back to content it
// had before gets the same ID again, and two patches that were accepted at different times are two rolls. Of a patch that nobody saw accepted
// when it was decided tells, or for which changes.
func sameReload(old, next *reloader.Reload) bool {
	if old.PatchedAt.IsZero() || next.PatchedAt.IsZero() {
		return old.DecidedAt.Equal(next.DecidedAt) ||
			slices.EqualFunc(old.Causes, next.Causes, func(a, b reloader.Cause) bool { return a.ChangeID == b.ChangeID })
	}
	return old.PatchedAt.Equal(next.PatchedAt)
}
