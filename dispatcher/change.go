package dispatcher

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/actor"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
)

// A Change is a line of the history: a config went from one digest to another. No decision depends on it.

// compare says what f, the newest look at c, is next to the last change of it: nothing new, or a change. before is the look before it, and told the change
// that the owner of a config of another cluster reports. The caller holds mu.
func (d *Dispatcher) compare(c reloader.Config, e *entry, before, f fact, told *reloader.Change, hints []reloader.Hint) (reloader.Change, bool) {
	old := e.last.Change
	if told != nil {
		return *told, told.ID != old.ID
	}
	if f.hidden || f.unread && !f.absent || f.Unproven && old.Present() {
		return reloader.Change{}, false
	}
	known, now := old.Type != "", f.digest
	if !old.New.Comparable(now) {
		if i := slices.IndexFunc(f.older, func(o reloader.Digest) bool { return o.KeyID == old.New.KeyID }); i >= 0 {
			now = f.older[i]
		}
	}
	change := reloader.Change{
		Cluster: d.Cluster, Config: c, UID: f.UID, ResourceVersion: f.ResourceVersion,
		Old: old.New, New: f.digest, Source: reloader.SourceSweep, VerifiedAt: f.seen,
	}
	switch {
	case f.absent && (!known || old.Type == reloader.ChangeDeleted):
		return change, false
	case f.absent:
		change.Type, change.New = reloader.ChangeDeleted, old.New
		change.UID, change.ResourceVersion = old.UID, old.ResourceVersion
	case !known && (before.absent && !before.began.IsZero() || anyCreates(hints)):
		change.Type = reloader.ChangeCreated
	case !known && len(hints) > 0:
		change.Type = reloader.ChangeUpdated
	case !known || !old.New.Comparable(now):
		change.Type, change.Source, change.Old = reloader.ChangeBaseline, reloader.SourceBaseline, reloader.Digest{}
	case !old.New.Equal(now):
		change.Type = reloader.ChangeUpdated
	case old.Type == reloader.ChangeDeleted:
		change.Type = reloader.ChangeCreated
	case !now.Equal(f.digest): // the same content under another key
		change.Type, change.Source = reloader.ChangeBaseline, reloader.SourceBaseline
	default:
		d.metrics.Unchanged()
		return change, false
	}
	if known {
		change.Keys = digest.Diff(change.Old, now)
	}
	change.ID = reloader.ChangeID(change)
	attributed := actor.Attribute(foundOf(change, f), e.fresh(hints), attributions(old))
	change = withAuthors(change, attributed)
	if drift, is := actor.Suspect(c, foundOf(change, f), attributed); is && change.Source == reloader.SourceSweep {
		e.drifts = append(e.drifts, drift)
	}
	return change, true
}

func anyCreates(hints []reloader.Hint) bool {
	return slices.ContainsFunc(hints, func(h reloader.Hint) bool { return h.Creates() })
}

func foundOf(c reloader.Change, f fact) actor.Found {
	removed := slices.ContainsFunc(c.Keys, func(k reloader.KeyChange) bool { return k.Op == reloader.KeyRemoved })
	return actor.Found{
		ChangeID: c.ID, At: c.VerifiedAt, New: c.Old.IsZero(), KeyRemoved: removed || c.Type == reloader.ChangeDeleted,
		Manager: f.DataManager, Written: f.DataWritten, Created: f.Created,
	}
}

// attributions returns what is on record about the authors of a change; nothing if there is none.
func attributions(c reloader.Change) []actor.Attribution {
	if len(c.Candidates) == 0 {
		return nil
	}
	return []actor.Attribution{attributionOf(c)}
}

func attributionOf(c reloader.Change) actor.Attribution {
	a := actor.Attribution{ChangeID: c.ID, RequestedAt: c.RequestedAt, ReceivedAt: c.ReceivedAt}
	if !c.RequestedAt.IsZero() {
		a.Source = c.Source
	}
	for _, o := range c.Candidates {
		a.Authors = append(a.Authors, actor.Author{Actor: o.Actor, Verb: o.Verb, AuditID: o.AuditID, At: o.Time, Sure: o.Basis != reloader.BasisAmbiguous})
	}
	return a
}

// withAuthors returns c with what is known about its authors.
func withAuthors(c reloader.Change, a actor.Attribution) reloader.Change {
	if a.Source == "" {
		return c
	}
	c.Source, c.RequestedAt, c.ReceivedAt, c.Candidates = a.Source, a.RequestedAt, a.ReceivedAt, nil
	others := slices.ContainsFunc(a.Authors, func(o actor.Author) bool { return o.Actor.Name() != a.Authors[0].Actor.Name() })
	for _, o := range a.Authors {
		basis := reloader.BasisAmbiguous
		switch {
		case o.Sure && !others:
			basis = reloader.BasisOnlyWriter
		case o.Sure:
			basis = reloader.BasisFieldManager
		}
		c.Candidates = append(c.Candidates, reloader.Candidate{Actor: o.Actor, Verb: o.Verb, AuditID: o.AuditID, Time: o.At, Basis: basis})
	}
	return c
}

// remember makes change the last of e, and has it stored. The caller holds mu.
func (d *Dispatcher) remember(c reloader.Config, e *entry, change reloader.Change) {
	if e.before = nil; e.last.Change.Type != "" {
		e.before = []actor.Past{{Attribution: attributionOf(e.last.Change), At: e.last.Change.VerifiedAt}}
	}
	e.last.Change = change
	d.fleet.Touched(c)
	if c.Cluster != "" {
		return // its owner keeps its history
	}
	if e.unstored = append(e.unstored, change); len(e.unstored) > maxUnstored {
		e.unstored = e.unstored[len(e.unstored)-maxUnstored:]
	}
	d.changeQ.Add(c)
	d.metrics.Change(change.Type, change.Source)
	d.logChange(change)
}

// maxUnstored bounds the changes of one config that wait for NATS to come back.
const maxUnstored = 16

// attributeLate adds to the last change of c what hints say about its authors that came after it was found. The caller holds mu.
func (d *Dispatcher) attributeLate(c reloader.Config, e *entry, f fact, hints []reloader.Hint) {
	last := e.last.Change
	if last.Type == "" || last.Type == reloader.ChangeBaseline || c.Cluster != "" {
		return
	}
	later, more := actor.Late(attributionOf(last), foundOf(last, f), e.fresh(hints), e.before)
	if !more {
		return
	}
	e.unstored = append(e.unstored, withAuthors(last, later))
	d.changeQ.Add(c)
	d.knowMore(c, e, withAuthors(last, later))
}

// knowMore takes what has become known about the authors of the last change of c, and has it added to what is on record of the reloads that it has caused.
// The caller holds mu.
func (d *Dispatcher) knowMore(c reloader.Config, e *entry, change reloader.Change) {
	e.last.Change = change
	for ref, t := range d.index.byConfig[c] {
		waits := false
		for i, known := range t.edges[c].changes {
			if known.ID == change.ID {
				t.edges[c].changes[i], waits = change, true
			}
		}
		if t.rollout != nil && t.rollout.reload != nil {
			followed := *t.rollout.reload
			followed.Causes = attributedTo(followed.Causes, change)
			t.rollout.reload = &followed
		}
		if waits && t.hold == nil {
			continue // nothing is on record that names it
		}
		d.records.finished[ref] = append(d.records.finished[ref], finished{w: t.w, renamed: &change})
		d.recordQ.AddAfter(ref, recordDelay)
	}
}

// attributedTo returns causes with what has become known of change since: who may have made it, and which hint told of it.
func attributedTo(causes []reloader.Cause, change reloader.Change) []reloader.Cause {
	causes = slices.Clone(causes)
	for i, c := range causes {
		if c.ChangeID == change.ID {
			c.Candidates, c.Source, c.RequestedAt, c.ReceivedAt = change.Candidates, change.Source, change.RequestedAt, change.ReceivedAt
			causes[i] = c
		}
	}
	return causes
}

// sameAuthors reports whether a and b are one change by the same authors.
func sameAuthors(a, b reloader.Change) bool {
	return a.ID == b.ID && slices.EqualFunc(a.Candidates, b.Candidates, func(a, b reloader.Candidate) bool {
		return a.Actor == b.Actor && a.Verb == b.Verb && a.AuditID == b.AuditID && a.Basis == b.Basis
	})
}

// storeChanges appends the changes of c that are not in the stream yet.
func (d *Dispatcher) storeChanges(ctx context.Context, c reloader.Config) time.Duration {
	for {
		d.mu.Lock()
		e := d.configs[c]
		if e == nil || len(e.unstored) == 0 {
			d.mu.Unlock()
			return 0
		}
		change, after := e.unstored[0], e.last.Sequence
		d.mu.Unlock()
		sequence, err := d.History.AppendChange(ctx, change, after)
		if errors.Is(err, reloader.ErrOutrun) { // another process led, or the stream has lost it
			var stored reloader.StoredChange
			if stored, _, err = d.History.LatestChange(ctx, d.Cluster, c); err == nil {
				d.mu.Lock()
				e.last.Sequence = stored.Sequence
				if len(e.unstored) > 0 && e.unstored[0].ID == stored.Change.ID {
					e.unstored = e.unstored[1:]
				}
				d.mu.Unlock()
				return again
			}
		}
		if err != nil {
			d.Logger.Warn("a change is not stored yet", "change", change.ID, "config", c.String(), "error", err)
			return again
		}
		d.mu.Lock()
		e.last.Sequence = sequence
		if len(e.unstored) > 0 && e.unstored[0].ID == change.ID {
			e.unstored = e.unstored[1:]
		}
		d.mu.Unlock()
	}
}

// judgeDrifts counts the changes that a sweep found and no hint told of in time.
func (d *Dispatcher) judgeDrifts(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c, e := range d.configs {
		e.drifts = slices.DeleteFunc(e.drifts, func(drift actor.Drift) bool {
			if now.Before(drift.Due()) {
				return false
			}
			if cause, missed := drift.Missed(); missed {
				d.metrics.Drifted()
				d.Logger.Warn("a change was found by the sweep alone: "+cause, "change", drift.ChangeID, "config", c.String())
			}
			return true
		})
	}
}
