package dispatcher

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/actor"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/live"
)

// entry is what is known about one config.
type entry struct {
	// now is the newest look, and past are the looks before it that found other writes, the oldest first.
	now  fact
	past []fact
	// newest is the newest change in the history, and before the one before; nil if this process has not seen that. unstored are changes that are not in
	// the stream yet.
	newest   newest
	before   *reloader.Change
	unstored []reloader.Change
	// heard has the requests that looks have answered.
	heard actor.Heard
	// unreadable is why the config cannot be read; empty if it can.
	unreadable string
}

// fact is what looks at a live config found that saw the same write of it. It holds no content.
type fact struct {
	live.Meta
	absent bool
	// unread says that only the metadata was read, and hidden that no workload may know more.
	unread, hidden bool
	// digest is under the active key, and older are those of the same content under the other keys.
	digest reloader.Digest
	older  []reloader.Digest
	// marks are those of the content; nil if it was not read by this process.
	marks *dialect.Values
	// began is when the newest look began, and seen when the first had ended.
	began, seen time.Time
	// touched is when the newest write that a hint reports happened.
	touched time.Time
}

// maxPast bounds the looks that are remembered of one config.
const maxPast = 15

func (e *entry) looked() bool { return e != nil && !e.now.began.IsZero() }

// configs has what is known about each config that is needed.
type configs map[reloader.Config]*entry

// of returns the entry of c, which is made if there is none.
func (all configs) of(c reloader.Config) *entry {
	if all[c] == nil {
		all[c] = &entry{}
	}
	return all[c]
}

// is reports whether meta is of the write that f found, or f found the absence of what is not there. A restored etcd gives its resource versions a second
// time: then the data was written after it was seen. If the API server's clock is ahead of ours, that costs one read too many.
func (f fact) is(meta live.Meta, there bool) bool {
	return f.absent != there && (!there || f.UID == meta.UID && f.ResourceVersion == meta.ResourceVersion && !meta.DataWritten.After(f.seen))
}

// sameAs reports whether o found the same write, and no more of it.
func (f fact) sameAs(o fact) bool {
	switch {
	case f.began.IsZero() || f.absent != o.absent || f.unread != o.unread || f.hidden != o.hidden:
		return false
	case f.absent:
		return true
	}
	return f.UID == o.UID && f.ResourceVersion == o.ResourceVersion && f.digest.Equal(o.digest)
}

// see makes f the newest look of e, and returns it with what is known of the same write from earlier ones.
func (e *entry) see(f fact, hints []reloader.Hint) fact {
	for _, h := range hints {
		if h.Time.After(f.touched) {
			f.touched = h.Time
		}
	}
	switch {
	case !e.looked():
	case e.now.is(f.Meta, !f.absent):
		f.seen = e.now.seen
		if e.now.touched.After(f.touched) {
			f.touched = e.now.touched
		}
	case !e.now.unread:
		slim := e.now
		slim.Annotations, slim.Labels, slim.marks = nil, nil, nil
		e.past = append(slices.Clip(e.past[max(0, len(e.past)-maxPast+1):]), slim)
	}
	e.now = f
	return f
}

// content reports whether f has the digest of a config that is there.
func (f fact) content() bool { return !f.began.IsZero() && !f.absent && !f.unread }

// written reports whether hints report a write to c since f was last seen. The clock of the API server may be another one; an error costs
// one read too many, or none too few.
func written(f fact, c reloader.Config, hints []reloader.Hint) bool {
	return slices.ContainsFunc(hints, func(h reloader.Hint) bool { return h.Config == c && h.Time.After(f.began) })
}
