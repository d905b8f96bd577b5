package dispatcher

import (
	"hash/maphash"
	"slices"

	"github.com/reroll-dev/reroll/reloader"
)

// maxTold is how many requests are remembered for each config. It is what one subject of the stream of hints holds.
const maxTold = 16

// tolds are the requests behind the hints that looks at a config have answered, the latest last. A write was there before anybody told of
// it, so that the look that answers the hint has seen it: when another source brings the same request later, as a shipper of audit logs
// does, it has nothing to do with what changed since. A request with an unknown outcome is not remembered, since its write may come later.
type tolds map[reloader.Config][]uint64

// requestSeed makes one number of each request, in this process.
var requestSeed = maphash.MakeSeed()

// reported is what tells two requests about one config apart. Clients choose audit IDs, but not times.
type reported struct {
	auditID, user string
	verb          reloader.Verb
	code          int
	at            int64
}

// numberOf returns a number that stands for the request behind h, or that there is none: a watch knows of no request.
func numberOf(h reloader.Hint) (number uint64, known bool) {
	if h.AuditID == "" || h.OutcomeUnknown() {
		return 0, false
	}
	return maphash.Comparable(requestSeed, reported{h.AuditID, h.Actor.User, h.Verb, h.Code, h.Time.UnixNano()}), true
}

// heard takes note that a look at c has answered hints.
func (d *Dispatcher) heard(c reloader.Config, hints []reloader.Hint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.needed(c) {
		return
	}
	told := d.told[c]
	for _, h := range hints {
		d.tellDrifts(c, h)
		if number, known := numberOf(h); known && !slices.Contains(told, number) {
			told = append(told, number)
		}
	}
	if len(told) > 0 {
		d.told[c] = slices.Clone(told[max(0, len(told)-maxTold):])
	}
}

// unheard returns the hints that no look at c has answered yet.
func (d *Dispatcher) unheard(c reloader.Config, hints []reloader.Hint) []reloader.Hint {
	d.mu.Lock()
	defer d.mu.Unlock()
	told := d.told[c]
	if len(told) == 0 {
		return hints
	}
	return slices.DeleteFunc(slices.Clone(hints), func(h reloader.Hint) bool {
		number, known := numberOf(h)
		return known && slices.Contains(told, number)
	})
}
