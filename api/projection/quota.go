package projection

import (
	"cmp"
	"maps"
	"slices"
)

// spareShare is which part of its limit a history may be over it, so that one pass over it makes room for many records.
const spareShare = 16

// evict drops entries if there are too many: the oldest of the clusters that have the most. Each cluster so keeps its part of the limit,
// whatever the others send, and what one does not use is for those that do. The array that entries lies in is a new one each time, so
// that it cannot keep dropped entries alive.
func (h *history[T, B, P]) evict() {
	if len(h.entries) <= h.limit+h.limit/spareShare {
		return
	}
	most := quota(h.limit, slices.Collect(maps.Values(h.members)))
	left := make([]*entry[B], 0, h.limit+h.limit/spareShare+1)
	for _, e := range h.entries {
		value := e.value.Load()
		if m := h.member(P(value).key().cluster); m.entries > most {
			m.evicted = max(m.evicted, e.seq)
			h.lose(e, value)
			continue
		}
		left = append(left, e)
	}
	h.entries = left
}

// quota returns how many entries each member may have so that all together have no more than limit: those below it keep what they have.
func quota(limit int, members []*member) int {
	slices.SortFunc(members, func(a, b *member) int { return cmp.Compare(a.entries, b.entries) })
	for i, m := range members {
		fair := limit / (len(members) - i)
		if m.entries > fair {
			return fair
		}
		limit -= m.entries
	}
	return limit
}
