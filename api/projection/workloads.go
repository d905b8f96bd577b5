package projection

import (
	"cmp"
	"slices"
	"strings"
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

// place is where the listing continues: after the workload.
func (k WorkloadKey) place() string {
	return strings.Join([]string{k.Cluster, k.Workload.Kind, k.Workload.Namespace, k.Workload.Name}, "\x00")
}

func keyAt(place string) (WorkloadKey, error) {
	names := strings.Split(place, "\x00")
	if len(names) != 4 {
		return WorkloadKey{}, ErrMalformed
	}
	return WorkloadKey{Cluster: names[0], Workload: reloader.WorkloadRef{Kind: names[1], Namespace: names[2], Name: names[3]}}, nil
}

// entry is the place of one workload, with its newest record. It has one from the start.
type entry struct {
	record atomic.Pointer[reloader.WorkloadRecord]
}

func (e *entry) key() WorkloadKey { return keyOf(e.record.Load()) }

func keyOf(r *reloader.WorkloadRecord) WorkloadKey {
	return WorkloadKey{Cluster: r.Cluster, Workload: r.Workload}
}

// workloads has the record of every workload. It is plain data: a Projection guards it.
type workloads struct {
	entries map[WorkloadKey]*entry
	// sorted has them in order; nil until they are listed, so that filling costs no sorting. A slice once put here is never written to.
	sorted []*entry
}

func (w *workloads) get(key WorkloadKey) (*reloader.WorkloadRecord, bool) {
	e, ok := w.entries[key]
	if !ok {
		return nil, false
	}
	return e.record.Load(), true
}

// put returns the place of rec, and the record that it replaces; nil if there was none.
func (w *workloads) put(rec *reloader.WorkloadRecord) (*entry, *reloader.WorkloadRecord) {
	key := keyOf(rec)
	e, ok := w.entries[key]
	if ok {
		return e, e.record.Swap(rec)
	}
	e = &entry{}
	e.record.Store(rec)
	w.entries[key] = e
	if w.sorted != nil {
		at, _ := find(w.sorted, key)
		w.sorted = slices.Concat(w.sorted[:at], []*entry{e}, w.sorted[at:])
	}
	return e, nil
}

func (w *workloads) remove(key WorkloadKey) {
	delete(w.entries, key)
	if at, known := find(w.sorted, key); known {
		w.sorted = slices.Concat(w.sorted[:at], w.sorted[at+1:])
	}
}

// find returns where in the order of entries the workload of key is, or would be.
func find(entries []*entry, key WorkloadKey) (int, bool) {
	return slices.BinarySearchFunc(entries, key, func(e *entry, key WorkloadKey) int { return e.key().Compare(key) })
}

// inOrder sorts the first time that it is called.
func (w *workloads) inOrder() []*entry {
	if w.sorted == nil {
		w.sorted = make([]*entry, 0, len(w.entries))
		for _, e := range w.entries {
			w.sorted = append(w.sorted, e)
		}
		slices.SortFunc(w.sorted, func(a, b *entry) int { return a.key().Compare(b.key()) })
	}
	return w.sorted
}

func workloadPage(entries []*entry, from string, limit int, match func(*reloader.WorkloadRecord) bool) (page Page[reloader.WorkloadRecord], err error) {
	if from != "" {
		after, err := keyAt(from)
		if err != nil {
			return page, err
		}
		start, found := find(entries, after)
		if found {
			start++
		}
		entries = entries[start:]
	}
	last := ""
	for _, e := range entries {
		rec := e.record.Load()
		if !match(rec) {
			continue
		}
		if len(page.Items) == limit {
			page.Next = last
			break
		}
		page.Items = append(page.Items, rec)
		last = keyOf(rec).place()
	}
	return page, nil
}
