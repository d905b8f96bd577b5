package actor

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// Late returns c, the newest change of a config, after hints that came when a sweep or another hint had already found it, and reports whether it has
// other authors than before. before is the change before it; zero if that is not known. Requests after the change was found, and those before the change
// before it, have not made it.
func Late(c reloader.Change, found Found, hints []reloader.Hint, before reloader.Change) (reloader.Change, bool) {
	since := c.VerifiedAt.Add(-slack)
	switch {
	case !before.VerifiedAt.IsZero():
		since = reloader.Earlier(since, before.VerifiedAt)
	case !found.Written.IsZero():
		since = reloader.Earlier(since, found.Written.Add(-slack))
	}
	hints = slices.DeleteFunc(slices.Clone(hints), func(h reloader.Hint) bool { return h.Time.After(c.VerifiedAt) || !h.Time.After(since) })
	if found.Written.After(c.VerifiedAt) {
		found.Written = time.Time{} // later writes are not this change
	}
	later := Attribute(c, found, hints, before)
	return later, !slices.EqualFunc(later.Candidates, c.Candidates, same)
}
