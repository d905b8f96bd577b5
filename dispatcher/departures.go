package dispatcher

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// A config may leave the content to which a workload was brought, and come back to it. Then there is nothing to do, but for pods that have
// started in between. When it left is told by the hints behind the change, each of which is about one write, or else by the last look that
// still found the content.

// lastSeen returns when the content that last left was seen last before change, as far as is known; zero if change does not know it.
func (d *Dispatcher) lastSeen(last, change reloader.Change) time.Time {
	if change.Old.IsZero() {
		return time.Time{}
	}
	if last.Type == reloader.ChangeDeleted {
		return cmp.Or(last.OldSeenAt, last.VerifiedAt) // it is not there since
	}
	if f, looked, _ := d.recall(last.Config); looked && !f.absent && !f.Unproven && f.digest.Equal(last.New) {
		return f.at
	}
	return last.VerifiedAt
}

// seenAgain takes note that a list, which was asked for at that time, shows c as the last look has found it.
func (d *Dispatcher) seenAgain(c reloader.Config, meta live.Meta, there bool, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f, looked := d.facts[c]; looked && f.at.Before(at) && f.absent != there && (f.absent || f.version().is(meta)) {
		f.at = at
		d.facts[c] = f
	}
}

// leftAt returns since when a config may have ceased to have the content of before the change i of all.
func leftAt(all []reloader.Change, i int) time.Time {
	c := all[i]
	if i > 0 && all[i-1].Type == reloader.ChangeDeleted {
		c = all[i-1]
	}
	// A watch tells of the last of several writes, and no change remembers more hints than maxCandidates.
	if c.RequestedAt.IsZero() || c.Source == reloader.SourceWatch || len(c.Candidates) >= maxCandidates {
		return earlier(c.VerifiedAt, cmp.Or(c.OldSeenAt, c.RequestedAt, c.VerifiedAt))
	}
	at := earlier(c.VerifiedAt, c.RequestedAt)
	for _, o := range c.Candidates {
		at = earlier(at, cmp.Or(o.Time, at))
	}
	return at
}

// differs reports whether, by c, its config had other content than h says, before or after. That a change was to the same content as before,
// as after a deletion, says nothing.
func differs(h reloader.Handled, c reloader.Change) bool {
	return c.Old.KeyID == h.KeyID && c.Old.Sum != h.Sum || c.Present() && c.New.KeyID == h.KeyID && c.New.Sum != h.Sum
}

// awaySince returns since when the config of s may have had other content than h says, after that was found, and whether it had. If it
// changed so often since then that the first of it is not kept any more, it may have been away all the time.
func (d *Dispatcher) awaySince(ctx context.Context, s step, h reloader.Handled, e evidence) (from time.Time, away bool, err error) {
	all, err := d.changesOf(ctx, s)
	if err != nil {
		return time.Time{}, false, err
	}
	first := firstSince(all, s.changes, h)
	since := all[first:]
	cut := first == 0 && s.config.Cluster == "" && len(all) > 0 && !all[0].Old.IsZero() && h.At.Before(d.began)
	left := slices.IndexFunc(since, func(c reloader.Change) bool { return follows(h, c) })
	switch {
	case cut:
		return h.At, true, nil
	case !slices.ContainsFunc(since, func(c reloader.Change) bool { return differs(h, c) }):
		return time.Time{}, false, nil
	case left >= 0:
		return leftAt(all, first+left), true, nil
	}
	// When it left is not known, but what was done then is not on record.
	return e.markedAt, e.fresh, nil
}

// changesOf returns the changes of the config of s that are kept, and those that wait, the oldest first.
func (d *Dispatcher) changesOf(ctx context.Context, s step) ([]reloader.Change, error) {
	all := slices.Clone(s.changes)
	if s.config.Cluster != "" {
		return all, nil // its owner has the others
	}
	kept, err := d.Changes.ChangesOf(ctx, d.Cluster, s.config)
	if err != nil {
		return nil, fmt.Errorf("read changes of %s: %w", s.config, err)
	}
	for _, stored := range kept {
		if !slices.ContainsFunc(s.changes, func(c reloader.Change) bool { return c.ID == stored.Change.ID }) {
			all = append(all, stored.Change)
		}
	}
	slices.SortStableFunc(all, func(a, b reloader.Change) int { return a.VerifiedAt.Compare(b.VerifiedAt) })
	return all, nil
}

// rollTime is how long at most it takes from reading a config to having it on record that a workload was brought to that.
const rollTime = time.Minute

// firstSince returns the index of the first of all changes after what h says was found, or of the first that waits. What changed while that was
// being recorded is among them.
func firstSince(all, waiting []reloader.Change, h reloader.Handled) int {
	first := slices.IndexFunc(all, func(c reloader.Change) bool {
		return c.VerifiedAt.After(h.At) || slices.ContainsFunc(waiting, func(w reloader.Change) bool { return w.ID == c.ID })
	})
	if first < 0 {
		first = len(all)
	}
	for i := first - 1; i >= 0 && all[i].Present() && all[i].New.Sum != h.Sum && all[i].VerifiedAt.After(h.At.Add(-rollTime)); i-- {
		if follows(h, all[i]) {
			return i
		}
	}
	return first
}

// lookBehind finds out, once in the life of a process, whether the latest change of c, by which it was deleted or made anew as it was, hides that
// it was away from the content that h says and came back. Who saw that may have ended before looking at what was started meanwhile.
func (d *Dispatcher) lookBehind(ctx context.Context, t *tracked, c reloader.Config, h reloader.Handled, latest reloader.Change) error {
	d.mu.Lock()
	_, looked := t.away[c]
	d.mu.Unlock()
	if looked || latest.Type != reloader.ChangeDeleted && latest.Type != reloader.ChangeCreated || h.Sum == "" || !h.At.Before(latest.VerifiedAt) {
		return nil
	}
	_, away, err := d.awaySince(ctx, step{config: c}, h, evidence{})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, edge := t.edges[c]; edge { // it may have ended meanwhile, and another one of its name begins anew
		t.away[c] = away
	}
	return nil
}

// mixed reports whether some container of w has started while the config of s had other content, although that is again what w is known to have
// been brought to: while w was held back, or waited, somebody rolled it, it was scaled, or its last rollout went on.
func (d *Dispatcher) mixed(ctx context.Context, w *workload.Workload, s step, f fact, handled reloader.Handled, e evidence) (bool, error) {
	switch {
	case w.Roll() != workload.InPlace || d.instead() != reloader.ReasonReloaded:
		return false, nil
	case s.outcome == reloader.ReasonReverted && s.latest.Old.KeyID == handled.KeyID && !d.unused(w, s, f, handled):
		from, away, err := d.awaySince(ctx, s, handled, e)
		if err != nil || !away {
			return false, err
		}
		return d.startedWhileAway(ctx, w, s, f, from)
	case s.outcome == reloader.ReasonAlreadyCurrent && s.earlier:
		from, away, err := d.awaySinceBrought(ctx, s, e)
		if err != nil || !away {
			return false, err
		}
		return d.startedWhileAway(ctx, w, s, f, from)
	}
	return false, nil
}

// awaySinceBrought is awaySince for what is on a workload, and not on record: that it was brought to the content of s.latest.
func (d *Dispatcher) awaySinceBrought(ctx context.Context, s step, e evidence) (time.Time, bool, error) {
	all, err := d.changesOf(ctx, s)
	if err != nil {
		return time.Time{}, false, err
	}
	h := reloader.Handled{KeyID: s.latest.New.KeyID, Sum: s.latest.New.Sum, At: e.markedAt}
	for _, c := range all {
		if e.brought != "" && versionOf(c) == e.brought {
			h.At = c.VerifiedAt
		}
	}
	if h.At.IsZero() {
		return time.Time{}, false, nil
	}
	return d.awaySince(ctx, s, h, evidence{})
}

// startedWhileAway reports whether some container of w runs that has started between a time and when the content of f came back.
func (d *Dispatcher) startedWhileAway(ctx context.Context, w *workload.Workload, s step, f fact, from time.Time) (bool, error) {
	names := slices.Clone(w.Template.Init)
	for _, c := range w.Template.Containers {
		names = append(names, c.Name)
	}
	until := contentTime(f, s.latest)
	if removes(s.latest) {
		until = s.latest.VerifiedAt // nobody is named who could say when
	}
	older, err := d.Workloads.StartedBetween(ctx, w, from.Add(-time.Second), until.Add(time.Second), names)
	if err != nil {
		return false, fmt.Errorf("read pods of %s: %w", w.Ref(), err)
	}
	return older, nil
}
