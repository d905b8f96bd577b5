package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// fact is what one read of a live config said. It holds no content.
type fact struct {
	live.Meta
	absent bool
	// unread says that the content is not to be read: see forNobody.
	unread bool
	digest reloader.Digest
	// older is the digest under the key of the last change, if that is another one that is still known.
	older reloader.Digest
	// marks are those of the content; nil if only the metadata was read.
	marks *dialect.Values
	// at is when the read began, and seen when it had ended: whatever it said was there by then, and perhaps not before.
	at, seen time.Time
}

// read looks at the live object: at its metadata first, and at its content only if that differs from what is known already. fresh says
// that somebody has written to it since it was last looked at, so that its content must be read in any case; hashed asks for the mark
// values too, which need the content. hinted says that somebody was told of a write, so that metadata from before that will not do. It is the only
// place that sees content. That of a config which is shown to nobody is not read at all.
func (d *Dispatcher) read(ctx context.Context, c reloader.Config, hashed, fresh, hinted bool) (fact, error) {
	at := time.Now()
	if !fresh || !d.ownDependents(c) {
		meta, asked, seen, err := d.meta(ctx, c, hinted)
		if apierrors.IsNotFound(err) {
			f := d.absence(c, asked, seen)
			f.unread = d.forNobody(c, f.Meta)
			return f, nil
		}
		if err != nil {
			return fact{}, fmt.Errorf("read metadata of %s: %w", c, err)
		}
		if d.forNobody(c, meta) {
			return fact{Meta: meta, unread: true, at: asked, seen: seen}, nil
		}
		if f, ok := d.remembered(c, meta, hashed); ok && !fresh {
			f.Meta, f.at, f.seen = meta, asked, seen
			return f, nil
		}
	}
	f, err := d.readContent(ctx, c, at)
	if err == nil && d.forNobody(c, f.Meta) {
		f = fact{Meta: f.Meta, unread: true, absent: f.absent, at: at, seen: f.seen} // it is shown no longer
	}
	return f, err
}

// readContent reads the content of c, and returns what is to be known of it.
func (d *Dispatcher) readContent(ctx context.Context, c reloader.Config, at time.Time) (fact, error) {
	obj, err := d.Configs.Get(ctx, c)
	d.metrics.reads.WithLabelValues("content").Inc()
	if apierrors.IsNotFound(err) {
		return d.absence(c, at, time.Now()), nil
	}
	if err != nil {
		return fact{}, fmt.Errorf("read %s: %w", c, err)
	}
	f := fact{Meta: obj.Meta, digest: d.Ring.Digest(obj.Content), at: at, seen: time.Now()}
	d.mu.Lock()
	last := d.latest[c].Change.New.KeyID
	d.mu.Unlock()
	if last != f.digest.KeyID {
		f.older, _ = d.Ring.DigestUnder(last, obj.Content)
	}
	marks := d.Dialects.Values(obj.Content, append([]reloader.Digest{f.digest}, d.Ring.Older(obj.Content)...)...)
	f.marks = &marks
	return f, nil
}

// written reports whether hints tell of a write to c since it was last looked at, so that the look after it finds another version. The
// clock of the API server may be another one; an error costs one read too many, or none too few.
func (d *Dispatcher) written(c reloader.Config, hints []reloader.Hint) bool {
	f, looked, _ := d.recall(c)
	if !looked || len(hints) == 0 {
		return false
	}
	newest := newestHint(hints)
	return newest.Config == c && newest.Time.After(f.at)
}

// absence returns the fact that c is not there. What it last said about itself still holds for its deletion.
func (d *Dispatcher) absence(c reloader.Config, at, seen time.Time) fact {
	last, _, _ := d.recall(c)
	return fact{Meta: live.Meta{Annotations: last.Annotations, Labels: last.Labels, Unselected: last.Unselected}, absent: true, at: at, seen: seen}
}

// remembered returns the fact known about exactly the version of c that meta describes, from this process or an earlier one.
func (d *Dispatcher) remembered(c reloader.Config, meta live.Meta, hashed bool) (fact, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f, ok := d.facts[c]; ok && !f.absent && !f.unread && f.version().is(meta) && (f.marks != nil || !hashed) {
		return f, true
	}
	l, ok := d.latest[c]
	if ok && !hashed && l.Change.Present() && !l.Change.Lacks(reloader.PartKeys) && d.Ring.Knows(l.Change.New.KeyID) && versionIn(l.Change).is(meta) {
		return fact{digest: l.Change.New}, true
	}
	return fact{}, false
}

// recall returns what the last look at c said, if there was one, and the latest change.
func (d *Dispatcher) recall(c reloader.Config) (f fact, looked bool, latest reloader.StoredChange) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, looked = d.facts[c]
	return f, looked, d.latest[c]
}

// current returns a fact about c that is as new as latest[c], reading c again only if what is known is older than the quiet
// window, or may not be reused: any hint since then would have led to a newer one.
func (d *Dispatcher) current(ctx context.Context, c reloader.Config, reuse bool) (fact, reloader.StoredChange, error) {
	if f, l, ok := d.fresh(c); ok && reuse {
		return f, l, nil // also while another look is being stored: what it found is known already
	}
	defer d.looks.lock(c)()
	if f, l, ok := d.fresh(c); ok && reuse {
		return f, l, nil
	}
	return d.lookLocked(ctx, c, nil, true)
}

// fresh returns what the last look at c said, if that was recent and looked at the content, or the content is not to be read.
func (d *Dispatcher) fresh(c reloader.Config) (fact, reloader.StoredChange, bool) {
	f, ok, l := d.recall(c)
	if f.unread {
		return f, reloader.StoredChange{}, time.Since(f.at) <= d.Window+reuseTime && d.forNobody(c, f.Meta)
	}
	return f, l, ok && f.marks != nil && time.Since(f.at) <= d.Window+reuseTime && f.digest.Equal(l.Change.New)
}

// reuseTime is how much older than the quiet window a fact may be when a workload is patched with it.
const reuseTime = time.Second

// look reads c and records what changed since the last look; see lookLocked.
func (d *Dispatcher) look(ctx context.Context, c reloader.Config, hints []reloader.Hint, hashed bool) (fact, reloader.StoredChange, error) {
	defer d.looks.lock(c)()
	return d.lookLocked(ctx, c, hints, hashed)
}

// lookOnce is lookLocked without what is noted of its end.
func (d *Dispatcher) lookOnce(ctx context.Context, c reloader.Config, hints []reloader.Hint, hashed bool) (fact, reloader.StoredChange, error) {
	if c.Cluster != "" {
		return d.lookAbroad(ctx, c)
	}
	f, err := d.read(ctx, c, hashed, d.written(c, hints), len(hints) > 0)
	if err != nil {
		return fact{}, reloader.StoredChange{}, err
	}
	if f.unread {
		d.remember(c, f)
		d.heard(c, hints)
		return f, reloader.StoredChange{}, nil
	}
	d.mu.Lock()
	last, known := d.latest[c]
	d.mu.Unlock()
	if known && f.Unproven {
		f.digest, f.older = last.Change.New, reloader.Digest{} // what was known stays true
	}
	change, changed := d.compare(c, f, last, known, hints)
	if !changed {
		d.metrics.unchanged.Inc()
		last, err = d.attribute(ctx, last, f, hints)
		d.remember(c, f)
		if err == nil {
			d.heard(c, hints)
		}
		if d.wasTakenBack(c) {
			d.spread(last)
		}
		return f, last, err
	}
	change.OldSeenAt = d.lastSeen(last.Change, change)
	if d.Window == 0 && len(hints) > 0 && change.Type == reloader.ChangeUpdated && !d.startsJobs(c) {
		d.anticipate(change, f, last)
	}
	stored, err := d.append(ctx, change, last)
	if err != nil {
		d.takeBack(change, last)
		return fact{}, reloader.StoredChange{}, err
	}
	d.remember(c, f)
	d.heard(c, hints)
	d.spread(stored)
	d.suspectDrift(change, f)
	return f, stored, nil
}

// anticipate makes change known before it is stored, so that workloads which wait for no window are patched meanwhile. Should the
// process end in between, the hint that led here comes again, and the workload itself says to which content it was brought.
func (d *Dispatcher) anticipate(change reloader.Change, f fact, last reloader.StoredChange) {
	d.remember(change.Config, f)
	known := reloader.StoredChange{Change: change, Sequence: last.Sequence}
	d.mu.Lock()
	d.latest[change.Config] = known
	d.mu.Unlock()
	d.spread(known)
}

// takeBack makes last the latest change again if change was anticipated, so that the next look finds it anew.
func (d *Dispatcher) takeBack(change reloader.Change, last reloader.StoredChange) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.latest[change.Config]; l.Change.ID == change.ID && l.Sequence == last.Sequence {
		d.latest[change.Config] = last
		d.takenBack[change.Config] = struct{}{}
	}
}

// wasTakenBack reports whether a change of c was taken back since the last time it was asked: a workload may have been patched for it.
func (d *Dispatcher) wasTakenBack(c reloader.Config) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, back := d.takenBack[c]
	delete(d.takenBack, c)
	return back
}

// startsJobs reports whether Jobs are started for changes of c. They are named after the change, which must be stored before.
func (d *Dispatcher) startsJobs(c reloader.Config) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.index.byConfig[c] {
		if t.w.Roll() == workload.NewJob {
			return true
		}
	}
	return false
}

// append stores change after last and makes it the latest.
func (d *Dispatcher) append(ctx context.Context, change reloader.Change, last reloader.StoredChange) (reloader.StoredChange, error) {
	seq, err := d.Changes.AppendChange(ctx, change, last.Sequence)
	if errors.Is(err, reloader.ErrOutrun) {
		d.catchUp(ctx, change.Config)
	}
	if err != nil {
		return reloader.StoredChange{}, fmt.Errorf("append change of %s: %w", change.Config, err)
	}
	stored := reloader.StoredChange{Change: change, Sequence: seq}
	d.mu.Lock()
	d.latest[change.Config] = stored
	d.mu.Unlock()
	d.metrics.changes.WithLabelValues(string(change.Type), string(change.Source)).Inc()
	d.logChange(change)
	return stored, nil
}

// remember keeps f if some workload still depends on c, and has their records written again that say otherwise why c rolls them, or not.
func (d *Dispatcher) remember(c reloader.Config, f fact) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.needed(c) {
		return
	}
	before, looked := d.facts[c]
	d.facts[c] = f
	if before.absent == f.absent && maps.Equal(before.Annotations, f.Annotations) && maps.Equal(before.Labels, f.Labels) && before.Unselected == f.Unselected {
		return // as it nearly always is
	}
	for ref, t := range d.index.byConfig[c] {
		if !sameDecision(d.decide(t.w, c, onRecord(t.w, c, before)), d.decide(t.w, c, onRecord(t.w, c, f))) {
			d.settleQ.Add(ref)
		}
		if looked {
			d.consented(t, c, before, f)
		}
	}
}

// catchUp replaces latest[c] by what the stream says, so that the next look compares with that, and makes it known: who appended
// it may not live to do so.
func (d *Dispatcher) catchUp(ctx context.Context, c reloader.Config) {
	stored, ok, err := d.Changes.LatestChange(ctx, d.Cluster, c)
	if err != nil {
		return
	}
	d.mu.Lock()
	if !ok {
		// The stream lost it. What was last known still tells whether the content has changed.
		stored = d.latest[c]
		stored.Sequence = 0
	}
	d.latest[c] = stored
	d.mu.Unlock()
	if ok {
		d.spread(stored)
	}
}

// trim forgets what is known about configs that no workload depends on any more, and what was overheard for nothing.
func (d *Dispatcher) trim() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.latest {
		if !d.needed(c) {
			delete(d.latest, c)
		}
	}
	for c := range d.facts {
		if !d.needed(c) {
			delete(d.facts, c)
		}
	}
	maps.DeleteFunc(d.unreadable, func(c reloader.Config, _ string) bool { return !d.needed(c) })
	maps.DeleteFunc(d.told, func(c reloader.Config, _ []uint64) bool { return !d.needed(c) })
	d.forgetAnswered(time.Now())
}
