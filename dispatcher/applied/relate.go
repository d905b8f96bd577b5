package applied

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader/live"
)

// Live is what a look found of a config. A Live without Sum is the absence of the config, unless Unread.
type Live struct {
	Write
	live.Meta
	// Older has the same content under other keys that are still known.
	Older []Write
	// Unread says that Version is known and the content is not: only metadata was read.
	Unread bool
	// Touched is when the newest write that was reported of the config happened; zero if none was.
	Touched time.Time
	// Seen is when the first look ended that found this write, and Began when the last one began, both by our clock.
	Seen, Began time.Time
	// Shrunk says that a key was taken away since applied's content, or may have been: the API server keeps no time of that.
	Shrunk bool
}

// Relation is how a live config relates to what was applied of it.
type Relation string

// The relations.
const (
	// Same is the same write, or nothing that can be compared: there is nothing to do.
	Same Relation = "same"
	// Restated is the same content under another digest key or filter. Equal is another write of the same content, and
	// Unused is a write that differs only in keys that do not count.
	Restated Relation = "restated"
	Equal    Relation = "equal"
	Unused   Relation = "unused"
	// Ahead is other content.
	Ahead Relation = "ahead"
	// Gone is the absence of a config that was there, and Appeared is the other way round.
	Gone     Relation = "gone"
	Appeared Relation = "appeared"
	// Unknown is another write that cannot be compared: its content was not read, or the digest key of the entry is lost.
	Unknown Relation = "unknown"
)

// Relate compares what was applied of a config with what is live.
func Relate(e Write, l Live) Relation {
	switch there := l.Unread || !l.Absent(); {
	case l.Unproven, e.Absent() && !there, l.Unread && e.Version == l.Version:
		return Same
	case !there:
		return Gone
	case l.Unread:
		return Unknown
	case e.Absent():
		return Appeared
	}
	same, known := l.under(e.KeyID)
	switch {
	case !known && e.Version != l.Version:
		return Unknown
	case known && e.Sum != same.Sum && e.Used != "" && e.Used == same.Used && e.Filter == same.Filter:
		return Unused
	case known && e.Sum != same.Sum:
		return Ahead
	case e.KeyID != l.KeyID || e.Filter != l.Filter: // if the key is lost, it is the same write, which may be noted under another one
		return Restated
	case e.Version != l.Version:
		return Equal
	}
	return Same
}

// under returns the content of l under a key, if that is known.
func (l Live) under(keyID string) (Write, bool) {
	for _, w := range append([]Write{l.Write}, l.Older...) {
		if w.KeyID == keyID {
			return w, true
		}
	}
	return Write{}, false
}

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
