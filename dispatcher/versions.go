package dispatcher

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// version is which object somebody saw, and when.
type version struct {
	uid, resourceVersion string
	seen                 time.Time
}

func (f fact) version() version { return version{f.UID, f.ResourceVersion, f.seen} }

func versionIn(c reloader.Change) version { return version{c.UID, c.ResourceVersion, c.VerifiedAt} }

// is reports whether meta is of that version. A restored etcd gives its resource versions a second time: then the content was written after
// it was seen. Where the API server's clock is ahead of ours, that costs one read too many.
func (v version) is(meta live.Meta) bool {
	return v.uid == meta.UID && v.resourceVersion == meta.ResourceVersion && !meta.DataWritten.After(v.seen)
}

// For most dialects only content counts. For one whose marks are made of versions, a write that leaves the content as it is counts as well. It
// is no change, and not stored: the mark on a workload tells what it was brought to, also to a process that comes later.

// rememberWrite keeps f, which says that the content of c is still that of latest, and makes those pending who count every write of c, if
// there was one since the last look.
func (d *Dispatcher) rememberWrite(c reloader.Config, f fact, latest reloader.Change, hints []reloader.Hint) {
	before, looked, _ := d.recall(c)
	d.remember(c, f)
	if !looked || before.absent || f.absent || before.UID == f.UID && before.ResourceVersion == f.ResourceVersion {
		return
	}
	latest.VerifiedAt, latest.Source, latest.Keys, latest.Candidates = f.seen, reloader.SourceSweep, nil, nil
	if hints = d.unheard(c, hints); len(hints) > 0 {
		newest := newestHint(hints)
		latest.Source, latest.RequestedAt, latest.ReceivedAt = newest.Source, newest.Time, newest.Received
		latest.Candidates = candidates(hints, true, f.Meta)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.index.dependents(c) {
		if t.handled[c].How != "" && d.countsVersions(t.w, c, f) {
			d.addPending(t, latest, true)
		}
	}
}

// countsVersions reports whether a dialect that asks w for c counts every write.
func (d *Dispatcher) countsVersions(w *workload.Workload, c reloader.Config, f fact) bool {
	return slices.ContainsFunc(d.asking(w, c, f), func(dl *dialect.Dialect) bool { return dl.Versions })
}

// outOfDate reports whether the mark of a dialect that counts every write is none of values, which are those of what is live.
func (e evidence) outOfDate(values []string) bool {
	return e.speaker != nil && e.speaker.Versions && !(e.marked && slices.Contains(values, e.mark))
}
