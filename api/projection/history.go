package projection

import (
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reroll-dev/reroll/reloader"
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
	// Record is a fingerprint of the record's ID: in a stream that begins anew the sequence may be that of another.
	Record uint64
}

func placeOf(seq uint64, id string) Place {
	print := fnv.New64a()
	_, _ = print.Write([]byte(id))
	return Place{Sequence: seq, Record: print.Sum64()}
}

// packed is a record of type T as it is kept.
type packed[T any] interface {
	// open makes into what the record is. What into refers to is written to, if it is not nil.
	open(into *T)
	// name returns the record's ID.
	name() string
}

// entry is a place in a history. Its value is replaced when more becomes known.
type entry[B any] struct {
	seq   uint64
	value atomic.Pointer[B]
	// version is the sequence that value was read at. The history's lock guards it.
	version uint64
}

// history holds the newest records of one stream, oldest first: of type T for those who ask, and kept as B.
type history[T, B any, P interface {
	*B
	packed[T]
}] struct {
	limit int
	pack  func(*T) *B
	// same reports whether next is a later word about old and not something new under the same ID.
	same func(old, next *T) bool
	// moved, if set, is told of each value that comes, is replaced, or goes: old or next is nil then. It is called under mu.
	moved func(e *entry[B], old, next *B)

	mu   sync.RWMutex
	byID map[string]*entry[B]
	// entries may be read without the lock once its header was copied under it: elements inside its length never change.
	entries []*entry[B]
	// evicted is the highest sequence that was dropped.
	evicted uint64
}

type (
	changeHistory = history[reloader.Change, packedChange, *packedChange]
	reloadHistory = history[reloader.Reload, packedReload, *packedReload]
)

// opened returns what a value is, in room of its own.
func (h *history[T, B, P]) opened(value *B) *T {
	into := new(T)
	P(value).open(into)
	return into
}

// add takes note of value, and returns it as it is kept, or nil if it was no news.
func (h *history[T, B, P]) add(seq uint64, id string, value *T) *B {
	next := h.pack(value)
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.byID[id]
	switch {
	case ok && seq <= known.version: // a replay
		return nil
	case ok && h.same(h.opened(known.value.Load()), value):
		known.version = seq
		h.move(known, known.value.Swap(next), next)
		return next
	case seq > h.evicted:
		h.insert(seq, id, next)
		h.evict()
		return next
	}
	return nil
}

func (h *history[T, B, P]) move(e *entry[B], old, next *B) {
	if h.moved != nil {
		h.moved(e, old, next)
	}
}

func (h *history[T, B, P]) insert(seq uint64, id string, value *B) {
	e := &entry[B]{seq: seq, version: seq}
	e.value.Store(value)
	h.byID[id] = e
	h.move(e, nil, value)
	if n := len(h.entries); n == 0 || h.entries[n-1].seq < seq {
		h.entries = append(h.entries, e)
		return
	}
	at, _ := h.find(h.entries, seq)
	h.entries = slices.Concat(h.entries[:at], []*entry[B]{e}, h.entries[at:]) // a copy: readers may hold the old one
}

// evict drops the oldest entry if there are too many. The array that entries lies in is renewed each time it is full, with
// little to spare, so that it cannot keep many dropped entries alive.
func (h *history[T, B, P]) evict() {
	if len(h.entries) <= h.limit {
		return
	}
	oldest := h.entries[0]
	h.evicted = oldest.seq
	value := oldest.value.Load()
	h.move(oldest, value, nil)
	if id := P(value).name(); h.byID[id] == oldest {
		delete(h.byID, id)
	}
	h.entries = h.entries[1:]
	if len(h.entries) == cap(h.entries) {
		fresh := make([]*entry[B], 0, h.limit+h.limit/16+1)
		h.entries = append(fresh, h.entries...)
	}
}

// repack packs each value anew, which may have become shorter. It says nothing new: places and versions stay.
func (h *history[T, B, P]) repack() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.entries {
		e.value.Store(h.pack(h.opened(e.value.Load())))
	}
}

// forget empties h. What a reader holds stays as it is, and its place is no longer one.
func (h *history[T, B, P]) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.entries {
		h.move(e, e.value.Load(), nil)
	}
	h.byID = map[string]*entry[B]{}
	h.entries, h.evicted = nil, 0
}

// drop forgets the entries that match and whose newest word is not after a sequence. What a reader holds stays as it is.
func (h *history[T, B, P]) drop(upTo uint64, match func(*B) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var left []*entry[B]
	for _, e := range h.entries {
		value := e.value.Load()
		if e.version > upTo || !match(value) {
			left = append(left, e)
			continue
		}
		h.move(e, value, nil)
		if id := P(value).name(); h.byID[id] == e {
			delete(h.byID, id)
		}
	}
	h.entries = left
}

func (h *history[T, B, P]) get(id string) (*T, bool) {
	value := h.kept(id)
	if value == nil {
		return nil, false
	}
	return h.opened(value), true
}

// kept returns the value of that ID as it is kept, or nil.
func (h *history[T, B, P]) kept(id string) *B {
	h.mu.RLock()
	defer h.mu.RUnlock()
	e, ok := h.byID[id]
	if !ok {
		return nil
	}
	return e.value.Load()
}

func (h *history[T, B, P]) page(from Place, limit int, match func(*T) bool) (Page[T], error) {
	h.mu.RLock()
	entries := h.entries
	h.mu.RUnlock()
	if from != (Place{}) {
		at, found := h.find(entries, from.Sequence)
		if !found || placeOf(from.Sequence, P(entries[at].value.Load()).name()) != from {
			return Page[T]{}, ErrExpired
		}
		entries = entries[:at]
	}
	return h.scan(entries, limit, match), nil
}

// scan collects from the end of entries. It looks one match further than it collects, to know whether there is a next page. What does not match
// takes no room.
func (h *history[T, B, P]) scan(entries []*entry[B], limit int, match func(*T) bool) Page[T] {
	var page Page[T]
	var last Place
	scratch := new(T)
	for _, e := range slices.Backward(entries) {
		value := e.value.Load()
		P(value).open(scratch)
		if !match(scratch) {
			continue
		}
		if len(page.Items) == limit {
			page.Next = last
			break
		}
		page.Items = append(page.Items, h.opened(value))
		last = placeOf(e.seq, P(value).name())
	}
	return page
}

// find returns where seq is or would be in entries.
func (h *history[T, B, P]) find(entries []*entry[B], seq uint64) (int, bool) {
	return slices.BinarySearchFunc(entries, seq, func(e *entry[B], seq uint64) int {
		switch {
		case e.seq < seq:
			return -1
		case e.seq > seq:
			return 1
		}
		return 0
	})
}
