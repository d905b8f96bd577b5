package applied

import (
	"slices"
	"time"
)

// Looks are the looks of this process at one config for one workload, oldest first. A process keeps them in memory. The zero Looks are none.
// Content may leave what was applied and come back while a pod starts, and the entry may change later than the content does, so Left is
// computed from all looks each time.
type Looks struct{ all []look }

// look stands for looks that found the same write.
type look struct {
	live Live
	// last is when the last of them began.
	last time.Time
}

// maxLooks bounds what a process keeps for one dependency. Of more, the oldest are forgotten, as after a restart.
const maxLooks = 16

// Add returns l with a look that began at a time of our clock. It ignores a look that read metadata alone.
func (l Looks) Add(began time.Time, live Live) Looks {
	if live.Unread || live.Unproven {
		return l
	}
	return Looks{append(slices.Clone(l.all[max(0, len(l.all)-maxLooks+1):]), look{live, began})}
}

// Left reports whether a look since the write e found other counting content, and returns when the last look before that began which
// still found that of e; zero if no look did.
func (l Looks) Left(e Write) (left time.Time, away bool) {
	for _, k := range l.all[l.since(e):] {
		if k.live.differs(e) {
			return left, true
		}
		left = k.last
	}
	return time.Time{}, false
}

// since returns the index of the first look that is not older than e.
func (l Looks) since(e Write) int {
	for i, k := range l.all {
		if !e.Absent() && k.live.Version == e.Version {
			return i
		}
	}
	for i, k := range l.all {
		if order, ordered := compareVersions(k.live.Version, e.Version); ordered && order > 0 {
			return i
		}
	}
	return 0
}

// differs reports whether l is known to have other counting content than e.
func (l Live) differs(e Write) bool {
	if l.Absent() || e.Absent() {
		return l.Absent() != e.Absent()
	}
	same, known := l.under(e.KeyID)
	return known && l.Version != e.Version && !same.counts(e)
}
