package actor

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// Past is a change of a config before another one, as it is on record.
type Past struct {
	At          time.Time
	Attribution Attribution
}

// Late returns the attribution of the newest change of a config after hints that came when a sweep or another hint had already found the change, and
// reports whether it says more than known. before are the earlier changes that are on record, the oldest first. Requests after the change was
// found, and those before the change before it, have not made it.
func Late(known Attribution, found Found, hints []reloader.Hint, before []Past) (Attribution, bool) {
	var attributed []Attribution
	for _, b := range before {
		attributed = append(attributed, b.Attribution)
	}
	since := reloader.Earlier(found.At.Add(-slack), changedBefore(found, before))
	hints = slices.DeleteFunc(slices.Clone(hints), func(h reloader.Hint) bool {
		return h.Time.After(found.At) || !h.Time.After(since) || madeAnother(h, found) || ledTo(h, attributed)
	})
	if len(hints) == 0 {
		return known, false
	}
	if found.Written.After(found.At) {
		found.Written = time.Time{} // later writes are not this change
	}
	later := known.with(found, hints)
	if slices.EqualFunc(later.Authors, known.Authors, same) {
		return known, false
	}
	if len(known.Authors) == 0 {
		later = later.dated(hints)
	}
	later.ChangeID = found.ChangeID
	return later, true
}

// changedBefore returns from when on requests may have made a change: since the change before it, or if that is not on record any more, since its
// data was written.
func changedBefore(found Found, before []Past) time.Time {
	for _, b := range slices.Backward(before) {
		if !b.At.IsZero() {
			return b.At
		}
	}
	if found.Written.IsZero() {
		return found.At
	}
	return found.Written.Add(-slack)
}
