package actor

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/reroll-dev/reroll/reloader"
)

// maxHeard is how many requests are remembered for each config. It is what one subject of the stream of hints holds.
const maxHeard = 16

// Heard has the requests that looks at one config have answered, the latest last. A write is there before any hint reports it, so the look that
// answers the hint has seen it. When another source reports the same request later, as a shipper of audit logs does, that request has nothing
// to do with what changed since.
type Heard []uint64

// With returns h after a look has answered hints.
func (h Heard) With(hints []reloader.Hint) Heard {
	all := slices.Clone(h)
	for _, hint := range hints {
		if number, ok := requestOf(hint); ok && !slices.Contains(all, number) {
			all = append(all, number)
		}
	}
	return slices.Clone(all[max(0, len(all)-maxHeard):])
}

// Fresh returns the hints whose request no look has answered.
func (h Heard) Fresh(hints []reloader.Hint) []reloader.Hint {
	return slices.DeleteFunc(slices.Clone(hints), func(hint reloader.Hint) bool {
		number, ok := requestOf(hint)
		return ok && slices.Contains(h, number)
	})
}

// requestOf returns a number that stands for the request behind h. A watch reports no request, and a request with an unknown outcome may be carried
// out after the look that it led to. Clients choose audit IDs, and the API server chooses the time.
func requestOf(h reloader.Hint) (number uint64, known bool) {
	if h.AuditID == "" || h.OutcomeUnknown() {
		return 0, false
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d %d", h.AuditID, h.Actor.User, h.Verb, h.Code, h.Time.UnixNano()))
	return binary.BigEndian.Uint64(sum[:]), true
}
