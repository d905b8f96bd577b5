package projection

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
)

// placeOf is where a listing by sequence continues: with what is older than one record. It has a fingerprint of the record's key: in a stream that begins
// again the sequence may be that of another.
func placeOf(seq uint64, key recordKey) string {
	print := fnv.New64a()
	_, _ = print.Write([]byte(key.cluster + "/" + key.id))
	return fmt.Sprintf("%x.%x", seq, print.Sum64())
}

// sequenceIn returns the sequence in a place.
func sequenceIn(place string) (uint64, error) {
	text, _, _ := strings.Cut(place, ".")
	seq, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		return 0, ErrMalformed
	}
	return seq, nil
}

// recordKey names a record among those of all clusters: a cluster has no say in what another one's ID stands for.
type recordKey struct{ cluster, id string }

// slot is the place of a record in a history. Its value is replaced when more becomes known.
type slot[T any] struct {
	seq   uint64
	value atomic.Pointer[T]
	// version is the sequence that value was read at.
	version uint64
}

// history holds the newest records of one stream, oldest first. It is plain data: a Projection guards it. But slots may be read by anyone who has copied
// the slice: elements inside its length never change, and records are never written to.
type history[T any] struct {
	// limit is how many places all records together may take.
	limit int
	key   func(*T) recordKey
	// places is how many of them a record takes.
	places func(*T) int
	figure func(*T) Figure
	// same reports whether next is a later word about old and not something new under the same ID.
	same func(old, next *T) bool

	byKey map[recordKey]*slot[T]
	slots []*slot[T]
	// figures are those of slots. Unlike slots they are for those alone whom the Projection lets.
	figures []Figure
	// taken is how many places the records of each cluster take, total those of all, and evicted the highest sequence of it that was dropped.
	taken   map[string]int
	total   int
	evicted map[string]uint64
}

// moved is what adding a record has done: the record that came to a slot, with what it replaced there, and the slots that had to go for it.
type moved[T any] struct {
	slot    *slot[T]
	old     *T
	dropped []*slot[T]
}

// add takes note of value; ok reports whether it was news.
func (h *history[T]) add(seq uint64, value *T) (m moved[T], ok bool) {
	key := h.key(value)
	known, found := h.byKey[key]
	switch {
	case found && seq <= known.version: // a replay
		return m, false
	case found && h.same(known.value.Load(), value):
		known.version = seq
		m = moved[T]{slot: known, old: known.value.Swap(value)}
		h.take(key.cluster, h.places(value)-h.places(m.old))
		at, _ := h.find(h.slots, known.seq)
		h.figures[at] = h.figure(value)
		return m, true
	case seq <= h.evicted[key.cluster]:
		return m, false
	}
	m.slot = &slot[T]{seq: seq, version: seq}
	m.slot.value.Store(value)
	h.byKey[key] = m.slot
	h.take(key.cluster, h.places(value))
	at, _ := h.find(h.slots, seq)
	h.figures = slices.Insert(h.figures, at, h.figure(value))
	if at == len(h.slots) {
		h.slots = append(h.slots, m.slot)
	} else {
		h.slots = slices.Concat(h.slots[:at], []*slot[T]{m.slot}, h.slots[at:])
	}
	m.dropped = h.evict()
	return m, true
}

// take takes note that the records of a cluster take more places, or fewer.
func (h *history[T]) take(cluster string, more int) {
	h.taken[cluster] += more
	h.total += more
}

// spareShare is which part of its limit a history may be over it, so that one pass over it makes room for many records.
const spareShare = 16

// evict drops records if they take too many places: the oldest of the clusters that have the most. So a cluster displaces its own records, and none
// of a cluster that has fewer.
func (h *history[T]) evict() (dropped []*slot[T]) {
	if h.total <= h.limit+h.limit/spareShare {
		return nil
	}
	surplus := h.total - h.limit
	over := func(share int) (n int) {
		for _, taken := range h.taken {
			n += max(0, taken-share)
		}
		return n
	}
	// Each cluster may have share places, and as many of them as rest have one less.
	share := sort.Search(h.total, func(share int) bool { return over(share) <= surplus })
	rest := surplus - over(share)
	left, figures := make([]*slot[T], 0, len(h.slots)+1), h.figures[:0]
	for i, s := range h.slots {
		value := s.value.Load()
		key := h.key(value)
		switch taken := h.taken[key.cluster]; {
		case taken > share:
		case taken == share && rest > 0:
			rest -= h.places(value)
		default:
			left, figures = append(left, s), append(figures, h.figures[i])
			continue
		}
		h.take(key.cluster, -h.places(value))
		h.evicted[key.cluster] = max(h.evicted[key.cluster], s.seq)
		if h.byKey[key] == s {
			delete(h.byKey, key)
		}
		dropped = append(dropped, s)
	}
	h.slots, h.figures = left, figures
	return dropped
}

// forget empties h. The copy of a reader stays, and its position becomes invalid.
func (h *history[T]) forget() {
	h.byKey, h.slots, h.figures, h.taken, h.total, h.evicted = map[recordKey]*slot[T]{}, nil, nil, map[string]int{}, 0, map[string]uint64{}
}

// named returns the records that have an ID: one, unless several clusters use it.
func (h *history[T]) named(id string) (found []*T) {
	for _, cluster := range slices.Sorted(maps.Keys(h.taken)) {
		if s, ok := h.byKey[recordKey{cluster, id}]; ok {
			found = append(found, s.value.Load())
		}
	}
	return found
}

// page collects from the end of slots. It looks one match further than it collects, to know whether there is a next page.
func (h *history[T]) page(slots []*slot[T], from string, limit int, match func(*T) bool) (page Page[T], err error) {
	if from != "" {
		seq, err := sequenceIn(from)
		if err != nil {
			return page, err
		}
		at, found := h.find(slots, seq)
		if !found || placeOf(seq, h.key(slots[at].value.Load())) != from {
			return page, ErrExpired
		}
		slots = slots[:at]
	}
	last := ""
	for _, s := range slices.Backward(slots) {
		value := s.value.Load()
		if !match(value) {
			continue
		}
		if len(page.Items) == limit {
			page.Next = last
			break
		}
		page.Items = append(page.Items, value)
		last = placeOf(s.seq, h.key(value))
	}
	return page, nil
}

// find returns where seq is or would be in slots.
func (h *history[T]) find(slots []*slot[T], seq uint64) (int, bool) {
	return slices.BinarySearchFunc(slots, seq, func(s *slot[T], seq uint64) int { return cmp.Compare(s.seq, seq) })
}
