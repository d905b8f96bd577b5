package projection

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Page is a part of a listing by sequence.
type Page[T any] struct {
	Items []*T
	// Next is the sequence to go on before. It is zero if no further record matches.
	Next uint64
}

// entry is a place in a history. Its value is replaced when more becomes known.
type entry[T any] struct {
	seq   uint64
	id    string
	value atomic.Pointer[T]
	// version is the sequence that value was read at. The history's lock guards it.
	version uint64
}

// history holds the newest records of one stream, oldest first.
type history[T any] struct {
	limit int
	// same reports whether next is a later word about old and not something new under the same ID.
	same func(old, next *T) bool
	// moved, if set, is told of each value that comes, is replaced, or goes: old or next is nil then. It is called under mu.
	moved func(e *entry[T], old, next *T)

	mu   sync.RWMutex
	byID map[string]*entry[T]
	// entries may be read without the lock once its header was copied under it: elements inside its length never change.
	entries []*entry[T]
	// evicted is the highest sequence that was dropped.
	evicted uint64
}

func newHistory[T any](limit int, same func(old, next *T) bool) *history[T] {
	return &history[T]{limit: limit, same: same, byID: map[string]*entry[T]{}}
}

// add takes note of value, and reports whether it was news.
func (h *history[T]) add(seq uint64, id string, value *T) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.byID[id]
	switch {
	case ok && seq <= known.version: // a replay
		return false
	case ok && h.same(known.value.Load(), value):
		known.version = seq
		h.move(known, known.value.Swap(value), value)
		return true
	case seq > h.evicted:
		h.insert(seq, id, value)
		h.evict()
		return true
	}
	return false
}

func (h *history[T]) move(e *entry[T], old, next *T) {
	if h.moved != nil {
		h.moved(e, old, next)
	}
}

func (h *history[T]) insert(seq uint64, id string, value *T) {
	e := &entry[T]{seq: seq, id: id, version: seq}
	e.value.Store(value)
	h.byID[id] = e
	h.move(e, nil, value)
	if n := len(h.entries); n == 0 || h.entries[n-1].seq < seq {
		h.entries = append(h.entries, e)
		return
	}
	at, _ := h.find(h.entries, seq)
	h.entries = slices.Concat(h.entries[:at], []*entry[T]{e}, h.entries[at:]) // a copy: readers may hold the old one
}

// evict drops the oldest entry if there are too many. The array that entries lies in is renewed each time it is full, with
// little to spare, so that it cannot keep many dropped entries alive.
func (h *history[T]) evict() {
	if len(h.entries) <= h.limit {
		return
	}
	oldest := h.entries[0]
	h.evicted = oldest.seq
	h.move(oldest, oldest.value.Load(), nil)
	if h.byID[oldest.id] == oldest {
		delete(h.byID, oldest.id)
	}
	h.entries = h.entries[1:]
	if len(h.entries) == cap(h.entries) {
		fresh := make([]*entry[T], 0, h.limit+h.limit/16+1)
		h.entries = append(fresh, h.entries...)
	}
}

// replaceAll puts what change makes of each value in its place. It says nothing new: places and versions stay.
func (h *history[T]) replaceAll(change func(*T) *T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.entries {
		e.value.Store(change(e.value.Load()))
	}
}

// forget empties h. What a reader holds stays as it is, and its place is then one among the sequences that come next.
func (h *history[T]) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.entries {
		h.move(e, e.value.Load(), nil)
	}
	h.byID = map[string]*entry[T]{}
	h.entries, h.evicted = nil, 0
}

func (h *history[T]) get(id string) (*T, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	e, ok := h.byID[id]
	if !ok {
		return nil, false
	}
	return e.value.Load(), true
}

func (h *history[T]) page(before uint64, limit int, match func(*T) bool) (Page[T], error) {
	h.mu.RLock()
	entries, evicted := h.entries, h.evicted
	h.mu.RUnlock()
	if before != 0 {
		if before <= evicted {
			return Page[T]{}, ErrExpired
		}
		at, _ := h.find(entries, before)
		entries = entries[:at]
	}
	return scan(entries, limit, match), nil
}

// scan collects from the end of entries. It looks one match further than it collects, to know whether there is a next page.
func scan[T any](entries []*entry[T], limit int, match func(*T) bool) Page[T] {
	var page Page[T]
	var last uint64
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
		last = e.seq
	}
	return page
}

// find returns where seq is or would be in entries.
func (h *history[T]) find(entries []*entry[T], seq uint64) (int, bool) {
	return slices.BinarySearchFunc(entries, seq, func(e *entry[T], seq uint64) int {
		switch {
		case e.seq < seq:
			return -1
		case e.seq > seq:
			return 1
		}
		return 0
	})
}
