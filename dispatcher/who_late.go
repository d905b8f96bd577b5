package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// A change is often found before its hint is looked at: by a sweep, above all by the one at the start, or by another hint. Who may have made it
// is then a later word about the change, and about the reloads that it has caused.

// attribute adds to the last change the actors of hints that arrived after it was verified although their requests came before:
// they may have made it, too. A hint that is too old or too young for that leaves last as it is.
func (d *Dispatcher) attribute(ctx context.Context, last reloader.StoredChange, f fact, hints []reloader.Hint) (reloader.StoredChange, error) {
	change := last.Change
	if change.Type == reloader.ChangeBaseline || len(hints) == 0 || last.Sequence == 0 {
		return last, nil
	}
	hints, err := d.behind(ctx, change, f, d.unheard(change.Config, hints))
	if err != nil {
		return last, err
	}
	found := withCandidates(change.Candidates, hints)
	if slices.EqualFunc(found, change.Candidates, sameWho) {
		return last, nil
	}
	if len(change.Candidates) == 0 {
		newest := newestHint(hints)
		change.Source, change.RequestedAt, change.ReceivedAt = newest.Source, newest.Time, newest.Received
	}
	meta := f.Meta
	if meta.DataWritten.After(change.VerifiedAt) {
		meta.DataWritten = time.Time{} // what was written since is not this change
	}
	change.Candidates = weigh(found, untimed(change.Keys), meta)
	stored, err := d.append(ctx, change, last)
	if errors.Is(err, reloader.ErrOutrun) {
		return last, nil
	}
	if err == nil {
		d.renameCauses(change)
	}
	return stored, err
}

// withCandidates returns found and, after them, those who made the requests of hints.
func withCandidates(found []reloader.Candidate, hints []reloader.Hint) []reloader.Candidate {
	found = slices.Clone(found)
	for _, h := range hints {
		found = addCandidate(found, h)
	}
	return found
}

// behind returns those of hints whose requests may have made change. What came before it is read only if one of them says something new.
func (d *Dispatcher) behind(ctx context.Context, change reloader.Change, f fact, hints []reloader.Hint) ([]reloader.Hint, error) {
	isNew := change.Type == reloader.ChangeCreated
	hints = slices.DeleteFunc(slices.Clone(hints), func(h reloader.Hint) bool {
		return h.Time.After(change.VerifiedAt) || madeAnother(h, isNew, f.Meta)
	})
	if slices.EqualFunc(withCandidates(change.Candidates, hints), change.Candidates, sameWho) {
		return nil, nil
	}
	before, err := d.changesBefore(ctx, change)
	if err != nil {
		return nil, err
	}
	since := earlier(change.VerifiedAt.Add(-attributionSlack), changedBefore(before, change, f))
	return slices.DeleteFunc(hints, func(h reloader.Hint) bool {
		return !h.Time.After(since) || slices.ContainsFunc(before, func(b reloader.Change) bool { return ledTo(h, b) })
	}), nil
}

// changesBefore returns the changes of a config before one of them that are on record, the oldest first.
func (d *Dispatcher) changesBefore(ctx context.Context, change reloader.Change) ([]reloader.Change, error) {
	kept, err := d.Changes.ChangesOf(ctx, d.Cluster, change.Config)
	if err != nil {
		return nil, fmt.Errorf("read changes of %s: %w", change.Config, err)
	}
	var before []reloader.Change
	for _, stored := range kept {
		if !sameChange(stored.Change, change) {
			before = append(before, stored.Change)
		}
	}
	return before, nil
}

// changedBefore returns from when on requests may have made change: since the one before it, or if that is not on record any more, since its
// data was written.
func changedBefore(before []reloader.Change, change reloader.Change, f fact) time.Time {
	for _, b := range slices.Backward(before) {
		if !b.VerifiedAt.IsZero() {
			return b.VerifiedAt
		}
	}
	if f.DataWritten.IsZero() {
		return change.VerifiedAt
	}
	return f.DataWritten.Add(-attributionSlack)
}

// sameChange reports whether a and b are one change: a later word about one has its ID and its time.
func sameChange(a, b reloader.Change) bool { return a.ID == b.ID && a.VerifiedAt.Equal(b.VerifiedAt) }

// renameCauses gives the workloads that still wait for a change its new candidates, and has them added to what is on record of those that do
// not.
func (d *Dispatcher) renameCauses(change reloader.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.index.dependents(change.Config) {
		waits := t.pending[change.Config].rename(change)
		if t.rollout != nil && t.rollout.reload != nil {
			followed := *t.rollout.reload
			followed.Causes = attributedTo(followed.Causes, change)
			t.rollout.reload = &followed
		}
		if waits && t.hold == nil {
			continue // nothing is on record that names it
		}
		ref := t.w.Ref()
		d.finished[ref] = append(d.finished[ref], finished{w: t.w, reload: reloader.Reload{Cluster: d.Cluster, Workload: ref}, renamed: &change})
		d.settleQ.Add(ref)
	}
}

// rename gives change its new candidates if p waits for it, and reports whether it does.
func (p *cause) rename(change reloader.Change) (waits bool) {
	if p == nil {
		return false
	}
	for i, c := range p.changes {
		if sameChange(c, change) {
			p.changes[i], waits = change, true
		}
	}
	return waits
}

// attributedTo returns causes with what has become known of change since: who may have made it, and which hint told of it.
func attributedTo(causes []reloader.Cause, change reloader.Change) []reloader.Cause {
	causes = slices.Clone(causes)
	for i, c := range causes {
		if c.ChangeID == change.ID && c.VerifiedAt.Equal(change.VerifiedAt) {
			c.Candidates, c.Source, c.RequestedAt, c.ReceivedAt = change.Candidates, change.Source, change.RequestedAt, change.ReceivedAt
			causes[i] = c
		}
	}
	return causes
}

// storeCandidates appends the last reload of a workload once more if change is among its causes and has other candidates by now. What is not
// the last reload on record any more stays as it is.
func (d *Dispatcher) storeCandidates(ctx context.Context, ref reloader.WorkloadRef, change reloader.Change) error {
	last, ok, err := d.Records.LastReload(ctx, d.Cluster, ref)
	if err != nil || !ok {
		return err
	}
	others := slices.ContainsFunc(last.Causes, func(c reloader.Cause) bool {
		return c.ChangeID == change.ID && c.VerifiedAt.Equal(change.VerifiedAt) && !slices.EqualFunc(c.Candidates, change.Candidates, sameWho)
	})
	if !others {
		return nil
	}
	last.Causes = attributedTo(last.Causes, change)
	return d.Records.AppendReload(ctx, last)
}
