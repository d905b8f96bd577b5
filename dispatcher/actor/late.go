package actor

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// Late returns c, the newest change of a config, after hints that came when a sweep or another hint had already found it, and reports whether it says
// more about its authors than before. before is the change before it; zero if that is not known. Requests after the change was found, and those before
// the change before it, have not made it.
func Late(c reloader.Change, found Found, hints []reloader.Hint, before reloader.Change) (reloader.Change, bool) {
	since := reloader.Earlier(c.VerifiedAt.Add(-slack), changedBefore(c, found, before))
	hints = slices.DeleteFunc(slices.Clone(hints), func(h reloader.Hint) bool {
		return h.Time.After(c.VerifiedAt) || !h.Time.After(since) || madeAnother(h, found) || ledTo(h, before)
	})
	if len(hints) == 0 {
		return c, false
	}
	if found.Written.After(c.VerifiedAt) {
		found.Written = time.Time{} // later writes are not this change
	}
	later := with(c, found, hints)
	if slices.EqualFunc(later.Candidates, c.Candidates, same) {
		return c, false
	}
	if len(c.Candidates) == 0 {
		later = dated(later, hints)
	}
	return later, true
}

// changedBefore returns from when on requests may have made c: since the change before it, or if that is not known, since its data was written.
func changedBefore(c reloader.Change, found Found, before reloader.Change) time.Time {
	switch {
	case !before.VerifiedAt.IsZero():
		return before.VerifiedAt
	case found.Written.IsZero():
		return c.VerifiedAt
	}
	return found.Written.Add(-slack)
}
