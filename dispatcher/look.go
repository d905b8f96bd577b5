package dispatcher

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher/actor"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/live"
)

// entry is what is known about one config. Dispatcher.mu guards it.
type entry struct {
	// now is the newest look, and past are the looks before it that found other writes, the oldest first.
	now  fact
	past []fact
	// last is the newest change in the history. unstored are changes that are not in the stream yet.
	last reloader.StoredChange
	// before is what is known of the changes before last: the one right before it, if this process has seen that.
	before   []actor.Past
	unstored []reloader.Change
	// heard has the requests that looks have answered, and drifts the changes that no hint has led to yet.
	heard  actor.Heard
	drifts []actor.Drift
	// unreadable is why the config cannot be read; empty if it can.
	unreadable string
}

// fact is what looks at a live config found that saw the same write of it. It holds no content.
type fact struct {
	live.Meta
	absent bool
	// unread says that only the metadata was read, and hidden that nobody may know more.
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
	// unanswered says that the owner of a config of another cluster told this to somebody who asked earlier.
	unanswered error
}

// maxPast bounds the looks that are remembered of one config.
const maxPast = 15

func (e *entry) looked() bool { return e != nil && !e.now.began.IsZero() }

// fresh returns the hints whose request no look has answered.
func (e *entry) fresh(hints []reloader.Hint) []reloader.Hint {
	if e == nil {
		return hints
	}
	return e.heard.Fresh(hints)
}

// entry returns the entry of c, which is made if there is none. The caller holds mu.
func (d *Dispatcher) entry(c reloader.Config) *entry {
	if d.configs[c] == nil {
		d.configs[c] = &entry{}
	}
	return d.configs[c]
}

// is reports whether meta is of the write that f found. A restored etcd gives its resource versions a second time: then the data was written after it
// was seen. If the API server's clock is ahead of ours, that costs one read too many.
func (f fact) is(meta live.Meta) bool {
	return !f.absent && f.UID == meta.UID && f.ResourceVersion == meta.ResourceVersion && !meta.DataWritten.After(f.seen)
}

// sameAs reports whether o found the same write, and no more of it.
func (f fact) sameAs(o fact) bool {
	switch {
	case f.began.IsZero() || (f.unanswered == nil) != (o.unanswered == nil) || f.absent != o.absent || f.unread != o.unread || f.hidden != o.hidden:
		return false
	case f.absent:
		return true
	}
	return f.UID == o.UID && f.ResourceVersion == o.ResourceVersion && f.digest.Equal(o.digest)
}

// look looks at c, and makes known what it found. hints are the reasons to look.
func (d *Dispatcher) look(ctx context.Context, c reloader.Config, hints []reloader.Hint) (fact, error) {
	defer d.looks.lock(c)()
	return d.lookLocked(ctx, c, hints, false)
}

// lookLocked is look for one that holds the lock of c. whole asks for the content, with its marks, in any case.
func (d *Dispatcher) lookLocked(ctx context.Context, c reloader.Config, hints []reloader.Hint, whole bool) (fact, error) {
	if c.Cluster == "" && d.fleet.Exports(c) { // who follows it is told what it was before
		if err := d.recall(ctx, c); err != nil {
			return fact{}, err
		}
	}
	var f fact
	var err error
	var told *reloader.Change
	if c.Cluster != "" {
		f, told, err = d.lookAbroad(ctx, c)
	} else {
		f, err = d.read(ctx, c, hints, whole)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noteRead(c, err)
	if err != nil {
		return fact{}, err
	}
	e := d.entry(c)
	before := e.now
	f = e.see(f, hints)
	change, changed := d.compare(c, e, before, f, told, hints)
	if changed {
		d.remember(c, e, change)
	} else if told != nil && !sameAuthors(*told, e.last.Change) {
		d.knowMore(c, e, *told)
	} else if len(hints) > 0 {
		d.attributeLate(c, e, f, hints)
	}
	e.heard = e.heard.With(hints)
	for i := range e.drifts {
		for _, h := range hints {
			e.drifts[i] = e.drifts[i].Hear(h)
		}
	}
	if len(hints) == 0 && before.sameAs(f) {
		return f, nil // the last look was compared with all
	}
	for _, t := range d.index.dependents(c) {
		d.relate(t, c, before, f)
	}
	return f, nil
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
	case e.now.absent && f.absent || !f.absent && e.now.is(f.Meta):
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

// noteRead takes note whether c could be read, and has the records of its dependents written again if that is news. An error that may pass says
// nothing. The caller holds mu.
func (d *Dispatcher) noteRead(c reloader.Config, err error) {
	now := ""
	switch fateOf(err) {
	case fateDone:
	case fateNever:
		now = err.Error()
	default:
		if !apierrors.IsInternalError(err) {
			return
		}
		now = err.Error()
	}
	e := d.entry(c)
	if e.unreadable == now {
		return
	}
	e.unreadable = now
	for ref, t := range d.index.byConfig[c] {
		if c.Cluster != "" && now != "" {
			d.Announcer.Complain(t.w, now)
		}
		d.recordQ.Add(ref)
		d.workloadQ.Add(ref)
	}
}

// needed reports whether c is to be looked at: a workload depends on it, or another cluster may follow it. The caller holds mu.
func (d *Dispatcher) needed(c reloader.Config) bool {
	return len(d.index.byConfig[c]) > 0 || d.fleet.Exports(c)
}

// Needs reports whether anything is known to depend on c, also by the record of a workload that cannot be seen now. Before Ready, anything may.
func (d *Dispatcher) Needs(c reloader.Config) bool {
	if !d.ready.Load() {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.needed(c) {
		return true
	}
	for _, r := range d.records.earlier {
		if slices.ContainsFunc(r.Edges, func(e reloader.Edge) bool { return e.Config == c }) {
			return true
		}
	}
	return false
}

// trim forgets what is known about configs that nobody needs any more.
func (d *Dispatcher) trim() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c, e := range d.configs {
		if !d.needed(c) && len(e.unstored) == 0 && !d.unanswered(c) {
			delete(d.configs, c)
		}
	}
}
