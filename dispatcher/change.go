package dispatcher

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/actor"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
)

// newest is the newest change of a config; zero if none is known. Most are baselines, of which there is one for each config: what they all say is not kept.
type newest struct {
	uid, version string
	digest       reloader.Digest
	at           time.Time
	// whole is any other change.
	whole *reloader.Change
}

func newestOf(change reloader.Change) newest {
	if change.Source != reloader.SourceBaseline || change.Shortened {
		return newest{whole: &change}
	}
	return newest{uid: change.UID, version: change.ResourceVersion, digest: change.New, at: change.VerifiedAt}
}

// last returns the newest change of c; zero if none is known.
func (e *entry) last(cluster string, c reloader.Config) reloader.Change {
	n := e.newest
	switch {
	case n.whole != nil:
		return *n.whole
	case n.at.IsZero():
		return reloader.Change{}
	}
	change := reloader.Change{
		Cluster: cluster, Config: c, Type: reloader.ChangeBaseline, UID: n.uid, ResourceVersion: n.version, New: n.digest,
		Source: reloader.SourceBaseline, VerifiedAt: n.at,
	}
	change.ID = reloader.ChangeID(change)
	return change
}

// history makes changes of looks. A change is a line of the history: a config went from one digest to another. No decision depends on it.
type history struct {
	*common
	index   *index
	records *records
	// judged is when judge was called last.
	judged time.Time
}

// take compares the newest look of e with the last change of it, and with what hints say.
func (h *history) take(c reloader.Config, e *entry, before fact, told *reloader.Change, hints []reloader.Hint) {
	change, changed := h.compare(c, e, before, e.now, told, hints)
	switch {
	case changed:
		h.remember(c, e, change)
	case told != nil && !sameCandidates(told.Candidates, e.last(h.Cluster, c).Candidates):
		h.knowMore(c, e, *told)
	case len(hints) > 0:
		h.attributeLate(c, e, e.now, hints)
	}
	e.heard = e.heard.With(hints)
}

// compare says what f, the newest look at c, is next to the last change of it: nothing new, or a change. before is the look before it, and told the change
// that the owner of a config of another cluster reports.
func (h *history) compare(c reloader.Config, e *entry, before, f fact, told *reloader.Change, hints []reloader.Hint) (reloader.Change, bool) {
	old := e.last(h.Cluster, c)
	if told != nil {
		return *told, told.ID != old.ID
	}
	if f.hidden || f.unread && !f.absent || f.Unproven && old.Present() {
		return reloader.Change{}, false
	}
	known := old.Type != ""
	change := reloader.Change{
		Cluster: h.Cluster, Config: c, UID: f.UID, ResourceVersion: f.ResourceVersion,
		Old: old.New, New: f.digest, Source: reloader.SourceSweep, VerifiedAt: f.seen,
	}
	switch {
	case f.absent && (!known || old.Type == reloader.ChangeDeleted):
		return change, false
	case f.absent:
		change.Type, change.New = reloader.ChangeDeleted, old.New
		change.UID, change.ResourceVersion = old.UID, old.ResourceVersion
	case !known && (before.absent && !before.began.IsZero() || slices.ContainsFunc(hints, reloader.Hint.Creates)):
		change.Type = reloader.ChangeCreated
	case !known && len(hints) > 0:
		change.Type = reloader.ChangeUpdated
	case !known || !old.New.Comparable(f.digest):
		change.Type, change.Source, change.Old = reloader.ChangeBaseline, reloader.SourceBaseline, reloader.Digest{}
	case !old.New.Equal(f.digest):
		change.Type = reloader.ChangeUpdated
	case old.Type == reloader.ChangeDeleted:
		change.Type = reloader.ChangeCreated
	default:
		return change, false
	}
	if known {
		change.Keys = digest.Diff(change.Old, f.digest)
	}
	change.ID = reloader.ChangeID(change)
	return actor.Attribute(change, foundOf(change, f), e.heard.Fresh(hints), old), true
}

func foundOf(c reloader.Change, f fact) actor.Found {
	removed := slices.ContainsFunc(c.Keys, func(k reloader.KeyChange) bool { return k.Op == reloader.KeyRemoved })
	return actor.Found{
		New: c.Old.IsZero(), KeyRemoved: removed || c.Type == reloader.ChangeDeleted,
		Manager: f.DataManager, Written: f.DataWritten, Created: f.Created,
	}
}

// remember makes change the last of e, and has it stored.
func (h *history) remember(c reloader.Config, e *entry, change reloader.Change) {
	if last := e.last(h.Cluster, c); last.Type != "" {
		e.before = &last
	}
	e.newest = newestOf(change)
	h.fleet.Touched(c)
	if c.Cluster != "" {
		return // its owner keeps its history
	}
	if e.unstored = append(e.unstored, change); len(e.unstored) > maxUnstored {
		e.unstored = e.unstored[len(e.unstored)-maxUnstored:]
	}
	h.changeQ.Add(c)
	h.metrics.Change(change.Type, change.Source)
	level := slog.LevelInfo
	if change.Type == reloader.ChangeBaseline {
		level = slog.LevelDebug // they are many, and nothing follows from them
	}
	var actors []string
	for _, a := range change.Candidates {
		actors = append(actors, a.Actor.Name())
	}
	h.Logger.Log(context.Background(), level, "change", "change", change.ID, "config", c.String(), "type", change.Type, "source", change.Source, "actors", actors)
}

// maxUnstored bounds the changes of one config that wait for NATS to come back.
const maxUnstored = 16

// attributeLate adds to the last change of c what hints say about its authors that came after it was found.
func (h *history) attributeLate(c reloader.Config, e *entry, f fact, hints []reloader.Hint) {
	last := e.last(h.Cluster, c)
	if last.Type == "" || last.Type == reloader.ChangeBaseline || c.Cluster != "" {
		return
	}
	later, more := actor.Late(last, foundOf(last, f), e.heard.Fresh(hints), *cmp.Or(e.before, &reloader.Change{}))
	if !more {
		return
	}
	e.unstored = append(e.unstored, later)
	h.changeQ.Add(c)
	h.knowMore(c, e, later)
}

// knowMore takes what has become known about the authors of the last change of c, and has it added to what is on record of the reloads that it has caused.
func (h *history) knowMore(c reloader.Config, e *entry, change reloader.Change) {
	e.newest = newestOf(change)
	for _, t := range h.index.byConfig[c] {
		waits := false
		for i, known := range t.edges.Get(c).changes {
			if known.ID == change.ID {
				t.edges.Get(c).changes[i], waits = change, true
			}
		}
		if waits && t.hold == nil {
			continue // nothing is on record that names it
		}
		h.records.attribute(t.w, change)
	}
}

// attributedTo adds to causes what is now known about change, its possible authors and its hint, and reports whether that is new.
func attributedTo(causes []reloader.Cause, change reloader.Change) (_ []reloader.Cause, news bool) {
	causes = slices.Clone(causes)
	for i, c := range causes {
		if c.ChangeID == change.ID {
			news = news || !sameCandidates(c.Candidates, change.Candidates)
			c.Candidates, c.Source, c.RequestedAt, c.ReceivedAt = change.Candidates, change.Source, change.RequestedAt, change.ReceivedAt
			causes[i] = c
		}
	}
	return causes, news
}

func sameCandidates(a, b []reloader.Candidate) bool {
	return slices.EqualFunc(a, b, func(a, b reloader.Candidate) bool {
		return a.Actor == b.Actor && a.Verb == b.Verb && a.AuditID == b.AuditID && a.Sure == b.Sure
	})
}

// driftTime is how long after the sweep has found a change its hint may still come, without the change counting as missed by the feed.
const driftTime = 5 * time.Minute

// judge counts the changes that a sweep found and no hint has reported in time, of those whose time ended since it was called last. A feed that works for
// ConfigMaps and Secrets may leave out rotations for good: they are about a resource of their own, which an audit policy or the filter of a log shipper has
// to keep.
func (h *history) judge(all configs, now time.Time) {
	since := h.judged
	h.judged = now
	for c, e := range all {
		change := e.newest.whole
		if change == nil || change.Source != reloader.SourceSweep || c.Cluster != "" {
			continue
		}
		if due := change.VerifiedAt.Add(driftTime); due.After(now) || !due.After(since) {
			continue
		}
		cause := "the feed has missed it"
		if told := c.Kind.Info().Told; told != "" {
			cause = "no source reports rotations; audit policy and shipping filters must keep updates of " + told
		}
		h.metrics.Drifted()
		h.Logger.Warn("a change was found by the sweep alone: "+cause, "change", change.ID, "config", c.String())
	}
}
