package projection

import (
	"cmp"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Page is a part of a listing by sequence.
type Page[T any] struct {
	Items []*T
	// Next is the place to go on from. It is zero if no further record matches.
	Next Place
}

// Place is where a listing by sequence goes on: with what is older than one record. The zero Place is its beginning.
type Place struct {
	Sequence uint64
	// Record is a fingerprint of the record's key: in a stream that begins anew the sequence may be that of another.
	Record uint64
}

func placeOf(seq uint64, key recordKey) Place {
	print := fnv.New64a()
	_, _ = print.Write([]byte(key.cluster + "/" + key.id))
	return Place{Sequence: seq, Record: print.Sum64()}
}

// recordKey names a record among those of all clusters: a cluster has no say in what another one's ID stands for.
type recordKey struct{ cluster, id string }

// entry is a place in a history. Its value is replaced when more becomes known.
type entry[T any] struct {
	seq   uint64
	value atomic.Pointer[T]
	// newest is the newest time of this entry and all before it, in nanoseconds.
	newest atomic.Int64
	// version is the sequence that value was read at. The history's lock guards it.
	version uint64
}

// history holds the newest records of one stream, oldest first. Records are shared with readers, and never written to.
type history[T any] struct {
	// limit is how many places all records together may take.
	limit int
	key   func(*T) recordKey
	// places is how many of them a record takes.
	places func(*T) int
	// at is when what a record tells of happened.
	at func(*T) time.Time
	// same reports whether next is a later word about old and not something new under the same ID.
	same func(old, next *T) bool
	// moved, if set, is told of each value that comes, is replaced, or goes: old or next is nil then. It is called under mu.
	moved func(e *entry[T], old, next *T)

	mu    sync.RWMutex
	byKey map[recordKey]*entry[T]
	// entries may be read without the lock once its header was copied under it: elements inside its length never change.
	entries []*entry[T]
	// members has what is kept of each cluster.
	members map[string]*member
	// taken is how many places all records take.
	taken int
}

// member is the part that one cluster has in a history.
type member struct {
	taken int
	// evicted is the highest sequence that was dropped.
	evicted uint64
}

// add takes note of value, and reports whether it was news.
func (h *history[T]) add(seq uint64, value *T) bool {
	key := h.key(value)
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.byKey[key]
	switch {
	case ok && seq <= known.version: // a replay
		return false
	case ok && h.same(known.value.Load(), value):
		known.version = seq
		before := known.value.Swap(value)
		h.take(key.cluster, h.places(value)-h.places(before))
		h.move(known, before, value)
		at, _ := h.find(h.entries, known.seq)
		h.date(h.entries[at:], value)
		return true
	case seq > h.member(key.cluster).evicted:
		h.insert(seq, key, value)
		h.evict()
		return true
	}
	return false
}

func (h *history[T]) member(cluster string) *member {
	m, ok := h.members[cluster]
	if !ok {
		m = &member{}
		h.members[cluster] = m
	}
	return m
}

// take takes note that the records of a cluster take more places, or fewer.
func (h *history[T]) take(cluster string, more int) {
	h.member(cluster).taken += more
	h.taken += more
}

func (h *history[T]) move(e *entry[T], old, next *T) {
	if h.moved != nil {
		h.moved(e, old, next)
	}
}

func (h *history[T]) insert(seq uint64, key recordKey, value *T) {
	e := &entry[T]{seq: seq, version: seq}
	e.value.Store(value)
	h.byKey[key] = e
	h.take(key.cluster, h.places(value))
	h.move(e, nil, value)
	at := len(h.entries)
	if at > 0 && h.entries[at-1].seq > seq {
		at, _ = h.find(h.entries, seq)
		h.entries = slices.Concat(h.entries[:at], []*entry[T]{e}, h.entries[at:]) // a copy: readers may hold the old one
	} else {
		h.entries = append(h.entries, e)
	}
	e.newest.Store(math.MinInt64)
	if at > 0 {
		e.newest.Store(h.entries[at-1].newest.Load())
	}
	h.date(h.entries[at:], value)
}

// date takes note of the time of the first of entries. One that is not over yet counts as now: a cluster whose clock is ahead must not
// make all that comes after it look new.
func (h *history[T]) date(entries []*entry[T], value *T) {
	newest := min(nanoseconds(h.at(value)), time.Now().UnixNano())
	for _, e := range entries {
		if e.newest.Load() >= newest {
			return
		}
		e.newest.Store(newest)
	}
}

// nanoseconds returns the time since 1970. The zero time is before all others.
func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return t.UnixNano()
}

// spareShare is which part of its limit a history may be over it, so that one pass over it makes room for many records.
const spareShare = 16

// evict drops entries if they take too many places: the oldest of the clusters that have the most. So a cluster displaces its own records, and none
// of a cluster that has fewer. The array that entries lies in is a new one each time, so that it cannot keep dropped entries alive.
func (h *history[T]) evict() {
	if h.taken <= h.limit+h.limit/spareShare {
		return
	}
	surplus := map[string]int{}
	for range h.taken - h.limit {
		most, taken := "", 0
		for cluster, m := range h.members {
			if left := m.taken - surplus[cluster]; left > taken || left == taken && cluster < most {
				most, taken = cluster, left
			}
		}
		surplus[most]++
	}
	left := make([]*entry[T], 0, len(h.entries)+1)
	for _, e := range h.entries {
		value := e.value.Load()
		cluster := h.key(value).cluster
		if surplus[cluster] <= 0 {
			left = append(left, e)
			continue
		}
		surplus[cluster] -= h.places(value)
		m := h.member(cluster)
		m.evicted = max(m.evicted, e.seq)
		h.lose(e, value)
	}
	h.entries = left
}

// forget empties h. What a reader holds stays as it is, and its place is no longer one.
func (h *history[T]) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.entries {
		h.move(e, e.value.Load(), nil)
	}
	h.byKey, h.members, h.entries, h.taken = map[recordKey]*entry[T]{}, map[string]*member{}, nil, 0
}

// lose drops all that leads to an entry. The caller takes it out of entries.
func (h *history[T]) lose(e *entry[T], value *T) {
	h.move(e, value, nil)
	key := h.key(value)
	if h.byKey[key] == e {
		delete(h.byKey, key)
	}
	h.take(key.cluster, -h.places(value))
	if m := h.member(key.cluster); m.taken == 0 && m.evicted == 0 {
		delete(h.members, key.cluster)
	}
}

// named returns the records that have an ID: one, unless several clusters use it.
func (h *history[T]) named(id string) []*T {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var found []*T
	for _, cluster := range slices.Sorted(maps.Keys(h.members)) {
		if e, ok := h.byKey[recordKey{cluster, id}]; ok {
			found = append(found, e.value.Load())
		}
	}
	return found
}

func (h *history[T]) page(from Place, limit int, match func(*T) bool) (Page[T], error) {
	h.mu.RLock()
	entries := h.entries
	h.mu.RUnlock()
	if from != (Place{}) {
		at, found := h.find(entries, from.Sequence)
		if !found || placeOf(from.Sequence, h.key(entries[at].value.Load())) != from {
			return Page[T]{}, ErrExpired
		}
		entries = entries[:at]
	}
	return h.scan(entries, limit, match), nil
}

// scan collects from the end of entries. It looks one match further than it collects, to know whether there is a next page.
func (h *history[T]) scan(entries []*entry[T], limit int, match func(*T) bool) Page[T] {
	var page Page[T]
	var last Place
	for _, e := range slices.Backward(entries) {
		value := e.value.Load()
		if !match(value) {
			continue
		}
		if len(page.Items) == limit {
			page.Next = last
			break
		}
		page.Items = append(page.Items, value)
		last = placeOf(e.seq, h.key(value))
	}
	return page
}

// each visits the records that may tell of something at or after a time, newest first. It does not look at those before the last of them.
func (h *history[T]) each(since time.Time, visit func(*T)) {
	h.mu.RLock()
	entries := h.entries
	h.mu.RUnlock()
	first := int64(math.MinInt64)
	if since.Before(time.Now()) { // nothing counts as newer than now: see date
		first = nanoseconds(since)
	}
	for _, e := range slices.Backward(entries) {
		if e.newest.Load() < first {
			return
		}
		visit(e.value.Load())
	}
}

// find returns where seq is or would be in entries.
func (h *history[T]) find(entries []*entry[T], seq uint64) (int, bool) {
	return slices.BinarySearchFunc(entries, seq, func(e *entry[T], seq uint64) int { return cmp.Compare(e.seq, seq) })
}
