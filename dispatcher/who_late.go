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
	found := slices.Clone(change.Candidates)
	for _, h := range hints {
		found = addCandidate(found, h)
	}
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
	change.Candidates = weigh(found, meta)
	stored, err := d.append(ctx, change, last)
	if errors.Is(err, reloader.ErrOutrun) {
		return last, nil
	}
	if err == nil {
		d.renameCauses(change)
	}
	return stored, err
}

// behind returns those of hints whose requests may have made change.
func (d *Dispatcher) behind(ctx context.Context, change reloader.Change, f fact, hints []reloader.Hint) ([]reloader.Hint, error) {
	since := change.VerifiedAt.Add(-attributionSlack)
	if slices.ContainsFunc(hints, func(h reloader.Hint) bool { return h.Time.Before(since) }) {
		before, err := d.changedBefore(ctx, change, f)
		if err != nil {
			return nil, err
		}
		since = earlier(since, before)
	}
	slack := change.VerifiedAt.Add(-attributionSlack)
	return slices.DeleteFunc(slices.Clone(hints), func(h reloader.Hint) bool {
		another := h.Config.Name == "" && h.Creates() && h.Time.Before(slack) // a name was generated, and not for this one
		return h.Time.After(change.VerifiedAt) || !h.Time.After(since) || another
	}), nil
}

// changedBefore returns from when on requests may have made change: since the one before it, or if that is not on record any more, since its
// data was written.
func (d *Dispatcher) changedBefore(ctx context.Context, change reloader.Change, f fact) (time.Time, error) {
	kept, err := d.Changes.ChangesOf(ctx, d.Cluster, change.Config)
	if err != nil {
		return time.Time{}, fmt.Errorf("read changes of %s: %w", change.Config, err)
	}
	for _, stored := range slices.Backward(kept) {
		if stored.Change.ID != change.ID && !stored.Change.VerifiedAt.IsZero() {
			return stored.Change.VerifiedAt, nil
		}
	}
	if f.DataWritten.IsZero() {
		return change.VerifiedAt, nil
	}
	return f.DataWritten.Add(-attributionSlack), nil
}

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
		if c.ID == change.ID && c.VerifiedAt.Equal(change.VerifiedAt) {
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
