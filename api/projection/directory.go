package projection

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reroll-dev/reroll/reloader"
)

// WorkloadKey names a workload among those of all clusters.
type WorkloadKey struct {
	Cluster  string
	Workload reloader.WorkloadRef
}

// Compare orders keys by namespace, name, kind and cluster.
func (k WorkloadKey) Compare(other WorkloadKey) int {
	return cmp.Or(
		cmp.Compare(k.Workload.Namespace, other.Workload.Namespace),
		cmp.Compare(k.Workload.Name, other.Workload.Name),
		cmp.Compare(k.Workload.Kind, other.Workload.Kind),
		cmp.Compare(k.Cluster, other.Cluster),
	)
}

// WorkloadPage is a part of the listing of workloads.
type WorkloadPage struct {
	Items []*reloader.WorkloadRecord
	// Next is the key to go on after. It is zero if no further workload matches.
	Next WorkloadKey
}

// slot is the place of one workload.
type slot struct {
	key    WorkloadKey
	record atomic.Pointer[reloader.WorkloadRecord]
}

// directory holds the record of every workload.
type directory struct {
	mu    sync.RWMutex
	slots map[WorkloadKey]*slot
	// sorted has the slots in order, or is nil since a workload came or went. A slice once put here is never written to.
	sorted []*slot
}

func newDirectory() *directory { return &directory{slots: map[WorkloadKey]*slot{}} }

func (d *directory) put(rec *reloader.WorkloadRecord) {
	key := WorkloadKey{Cluster: rec.Cluster, Workload: rec.Workload}
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.slots[key]
	if !ok {
		s = &slot{key: key}
		d.slots[key] = s
		d.sorted = nil
	}
	s.record.Store(rec)
}

func (d *directory) remove(key WorkloadKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.slots[key]; ok {
		delete(d.slots, key)
		d.sorted = nil
	}
}

func (d *directory) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slots, d.sorted = map[WorkloadKey]*slot{}, nil
}

func (d *directory) get(key WorkloadKey) (*reloader.WorkloadRecord, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s, ok := d.slots[key]
	if !ok {
		return nil, false
	}
	return s.record.Load(), true
}

func (d *directory) page(after WorkloadKey, limit int, match func(*reloader.WorkloadRecord) bool) WorkloadPage {
	slots := d.inOrder()
	start, found := slices.BinarySearchFunc(slots, after, func(s *slot, key WorkloadKey) int { return s.key.Compare(key) })
	if found {
		start++
	}
	var page WorkloadPage
	var last WorkloadKey
	for _, s := range slots[start:] {
		rec := s.record.Load()
		if !match(rec) {
			continue
		}
		if len(page.Items) == limit {
			page.Next = last
			break
		}
		page.Items = append(page.Items, rec)
		last = s.key
	}
	return page
}

// inOrder returns the slots in order. Sorting waits for the first reader, so that filling the directory costs no sorting.
func (d *directory) inOrder() []*slot {
	d.mu.RLock()
	sorted := d.sorted
	d.mu.RUnlock()
	if sorted != nil {
		return sorted
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sorted == nil {
		d.sorted = make([]*slot, 0, len(d.slots))
		for _, s := range d.slots {
			d.sorted = append(d.sorted, s)
		}
		slices.SortFunc(d.sorted, func(a, b *slot) int { return a.key.Compare(b.key) })
	}
	return d.sorted
}
