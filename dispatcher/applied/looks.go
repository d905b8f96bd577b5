package applied

import "time"

// Looks are the looks of this process at one config for one workload, oldest first. A process keeps them in memory. The zero Looks are none.
// Content may leave what was applied and come back while a pod starts, and the entry may change later than the content does, so Left is
// computed from all looks each time.
type Looks struct{ all []look }

// look stands for consecutive looks that found the same write.
type look struct {
	write Write
	// last is when the last of them began.
	last time.Time
}

// maxLooks bounds what a process keeps for one dependency. Of more, the oldest are forgotten, as after a restart.
const maxLooks = 16

// Add returns l with a look that began at a time of our clock. It ignores a look that read metadata alone and found another write.
func (l Looks) Add(began time.Time, live Live) Looks {
	n := len(l.all)
	if n > 0 && l.all[n-1].write.Version == live.Version && (live.Unread || l.all[n-1].write.Absent() == live.Absent()) {
		w := live.Write
		if live.Unread {
			w = l.all[n-1].write
		}
		return Looks{append(append([]look{}, l.all[:n-1]...), look{w, began})}
	}
	if live.Unread || live.Unproven {
		return l
	}
	return Looks{append(append([]look{}, l.all[max(0, n-maxLooks+1):]...), look{live.Write, began})}
}

// Left reports whether a look since the write e found other counting content, and returns when the last look before that began which
// still found that of e; zero if no look did.
func (l Looks) Left(e Write) (left time.Time, away bool) {
	for _, k := range l.all[l.since(e):] {
		if !k.write.is(e) && !k.write.counts(e) {
			return left, true
		}
		left = k.last
	}
	return time.Time{}, false
}

// since returns the index of the first look that is not older than e.
func (l Looks) since(e Write) int {
	for i, k := range l.all {
		if k.write.is(e) {
			return i
		}
	}
	for i, k := range l.all {
		if order, ordered := compareVersions(k.write.Version, e.Version); ordered && order > 0 {
			return i
		}
	}
	return 0
}

// is reports whether w and o are the same write of a config that is there.
func (w Write) is(o Write) bool { return !w.Absent() && !o.Absent() && w.Version == o.Version }
