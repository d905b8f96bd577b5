package projection

import (
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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

// packed is a record of type T as it is kept.
type packed[T any] interface {
	// open makes into what the record is. What into refers to is written to, if it is not nil.
	open(into *T)
	// key names the record.
	key() recordKey
	// at is when what the record tells of happened.
	at() moment
	// weight is the memory that the record takes, in units of recordBytes, and at least 1.
	weight() int
}

// recordBytes is what an ordinary record takes at most.
const recordBytes = 1024

func weigh(bytes int) int { return 1 + bytes/recordBytes }

// entry is a place in a history. Its value is replaced when more becomes known.
type entry[B any] struct {
	seq   uint64
	value atomic.Pointer[B]
	// newest is the newest time of this entry and all before it.
	newest atomic.Int64
	// version is the sequence that value was read at. The history's lock guards it.
	version uint64
}

// history holds the newest records of one stream, oldest first: of type T for those who ask, and kept as B.
type history[T, B any, P interface {
	*B
	packed[T]
}] struct {
	// limit is the weight that all records together may have.
	limit int
	pack  func(*T) *B
	// same reports whether next is a later word about old and not something new under the same ID.
	same func(old, next *T) bool
	// moved, if set, is told of each value that comes, is replaced, or goes: old or next is nil then. It is called under mu.
	moved func(e *entry[B], old, next *B)

	mu    sync.RWMutex
	byKey map[recordKey]*entry[B]
	// entries may be read without the lock once its header was copied under it: elements inside its length never change.
	entries []*entry[B]
	// members has what is kept of each cluster.
	members map[string]*member
	// weight is that of all records.
	weight int
}

// member is the part that one cluster has in a history.
type member struct {
	weight int
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
func (h *history[T, B, P]) add(seq uint64, value *T) *B {
	next := h.pack(value)
	key := P(next).key()
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.byKey[key]
	switch {
	case ok && seq <= known.version: // a replay
		return nil
	case ok && h.same(h.opened(known.value.Load()), value):
		known.version = seq
		before := known.value.Swap(next)
		h.weigh(key.cluster, P(next).weight()-P(before).weight())
		h.move(known, before, next)
		at, _ := h.find(h.entries, known.seq)
		h.date(h.entries[at:], P(next).at())
		return next
	case seq > h.member(key.cluster).evicted:
		h.insert(seq, key, next)
		h.evict()
		return next
	}
	return nil
}

func (h *history[T, B, P]) member(cluster string) *member {
	m, ok := h.members[cluster]
	if !ok {
		m = &member{}
		h.members[cluster] = m
	}
	return m
}

// weigh takes note that the records of a cluster weigh more, or less.
func (h *history[T, B, P]) weigh(cluster string, more int) {
	h.member(cluster).weight += more
	h.weight += more
}

func (h *history[T, B, P]) move(e *entry[B], old, next *B) {
	if h.moved != nil {
		h.moved(e, old, next)
	}
}

func (h *history[T, B, P]) insert(seq uint64, key recordKey, value *B) {
	e := &entry[B]{seq: seq, version: seq}
	e.value.Store(value)
	h.byKey[key] = e
	h.weigh(key.cluster, P(value).weight())
	h.move(e, nil, value)
	at := len(h.entries)
	if at > 0 && h.entries[at-1].seq > seq {
		at, _ = h.find(h.entries, seq)
		h.entries = slices.Concat(h.entries[:at], []*entry[B]{e}, h.entries[at:]) // a copy: readers may hold the old one
	} else {
		h.entries = append(h.entries, e)
	}
	e.newest.Store(int64(noTime))
	if at > 0 {
		e.newest.Store(h.entries[at-1].newest.Load())
	}
	h.date(h.entries[at:], P(value).at())
}

// date takes note of the time of the first of entries. One that is not over yet counts as now: a cluster whose clock is ahead must not
// make all that comes after it look new.
func (h *history[T, B, P]) date(entries []*entry[B], at moment) {
	newest := int64(min(at, momentOf(time.Now())))
	for _, e := range entries {
		if e.newest.Load() >= newest {
			return
		}
		e.newest.Store(newest)
	}
}

// repack packs each value anew, which may have become shorter. It says nothing new: places and versions stay.
func (h *history[T, B, P]) repack() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.entries {
		before := e.value.Load()
		next := h.pack(h.opened(before))
		e.value.Store(next)
		h.weigh(P(next).key().cluster, P(next).weight()-P(before).weight())
	}
}

// forget empties h. What a reader holds stays as it is, and its place is no longer one.
func (h *history[T, B, P]) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.entries {
		h.move(e, e.value.Load(), nil)
	}
	h.byKey, h.members = map[recordKey]*entry[B]{}, map[string]*member{}
	h.entries, h.weight = nil, 0
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
		h.lose(e, value)
	}
	h.entries = left
}

// lose drops all that leads to an entry. The caller takes it out of entries.
func (h *history[T, B, P]) lose(e *entry[B], value *B) {
	h.move(e, value, nil)
	key := P(value).key()
	if h.byKey[key] == e {
		delete(h.byKey, key)
	}
	h.weigh(key.cluster, -P(value).weight())
	if m := h.member(key.cluster); m.weight == 0 && m.evicted == 0 {
		delete(h.members, key.cluster)
	}
}

// named returns the records that have an ID: one, unless several clusters use it.
func (h *history[T, B, P]) named(id string) []*T {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var found []*T
	for _, cluster := range slices.Sorted(maps.Keys(h.members)) {
		if e, ok := h.byKey[recordKey{cluster, id}]; ok {
			found = append(found, h.opened(e.value.Load()))
		}
	}
	return found
}

// kept returns the value of that key as it is kept, or nil.
func (h *history[T, B, P]) kept(key recordKey) *B {
	h.mu.RLock()
	defer h.mu.RUnlock()
	e, ok := h.byKey[key]
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
		if !found || placeOf(from.Sequence, P(entries[at].value.Load()).key()) != from {
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
		last = placeOf(e.seq, P(value).key())
	}
	return page
}

// each visits the records that may tell of something at or after a time, newest first. It does not look at those before the last of them.
func (h *history[T, B, P]) each(since time.Time, visit func(*T)) {
	h.mu.RLock()
	entries := h.entries
	h.mu.RUnlock()
	first, scratch := noTime, new(T)
	if since.Before(time.Now()) { // nothing counts as newer than now: see date
		first = momentOf(since)
	}
	for _, e := range slices.Backward(entries) {
		if moment(e.newest.Load()) < first {
			return
		}
		P(e.value.Load()).open(scratch)
		visit(scratch)
	}
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
