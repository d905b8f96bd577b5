package projection

import (
	"cmp"
	"maps"
	"slices"
)

// spareShare is which part of its limit a history may be over it, so that one pass over it makes room for many records.
const spareShare = 16

// evict drops entries if they weigh too much: the oldest of the clusters that have the most. Each cluster so keeps its part of the limit,
// whatever the others send, and what one does not use is for those that do. A change of ten thousand keys counts as many records. The array that entries lies in is a new one each time, so
// that it cannot keep dropped entries alive.
func (h *history[T, B, P]) evict() {
	if h.weight <= h.limit+h.limit/spareShare {
		return
	}
	most := quota(h.limit, slices.Collect(maps.Values(h.members)))
	left := make([]*entry[B], 0, len(h.entries)+1)
	for _, e := range h.entries {
		value := e.value.Load()
		if m := h.member(P(value).key().cluster); m.weight > most {
			m.evicted = max(m.evicted, e.seq)
			h.lose(e, value)
			continue
		}
		left = append(left, e)
	}
	h.entries = left
}

// quota returns the weight that each member may have so that all together have no more than limit: those below it keep what they have.
func quota(limit int, members []*member) int {
	slices.SortFunc(members, func(a, b *member) int { return cmp.Compare(a.weight, b.weight) })
	for i, m := range members {
		fair := limit / (len(members) - i)
		if m.weight > fair {
			return fair
		}
		limit -= m.weight
	}
	return limit
}
