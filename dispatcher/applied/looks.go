package applied

import (
	"slices"
	"time"
)

// Left reports whether a look since the write e, which is not an absence, found other counting content. It returns when the last look before that
// began which still found the content of e; zero if no look did. looks are those that this process remembers, the oldest first; those that read metadata
// alone say nothing. Content may leave what was applied and come back while a pod starts, and the entry may change later than the content does, so
// Left is computed from all looks each time.
func Left(looks []Live, e Write) (left time.Time, away bool) {
	for _, l := range looks[since(looks, e):] {
		switch {
		case l.Unread || l.Unproven:
		case slices.Contains([]Relation{Ahead, Gone, Appeared}, Relate(e, l)):
			return left, true
		default:
			left = l.Began
		}
	}
	return time.Time{}, false
}

// since returns the index of the first look that is not older than e.
func since(looks []Live, e Write) int {
	return max(0, slices.IndexFunc(looks, func(l Live) bool { return l.Version == e.Version || CompareVersions(l.Version, e.Version) > 0 }))
}
