package dispatcher

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// finished is a reload that is to be recorded, and the workload as it was then.
type finished struct {
	w      *workload.Workload
	reload reloader.Reload
	// renamed, if set, is a change that has more candidates by now, as the last reload on record is to say; then reload only names the workload.
	renamed *reloader.Change
}

// settle records what is known about a workload: first its finished reloads, then its record. A workload that is gone loses its
// record. What cannot be stored is tried again for as long as it takes; until then the mark and the annotation on the workload
// say the same.
func (d *Dispatcher) settle(ctx context.Context, ref reloader.WorkloadRef) time.Duration {
	if d.makesWay(ref) {
		return recordDelay
	}
	t, waiting, record, whole := d.unstored(ref)
	stored, err := d.store(ctx, waiting)
	d.forgetFinished(ref, stored)
	switch {
	case err != nil:
	case record != nil:
		err = d.Records.PutWorkload(ctx, *record)
	default:
		err = d.Records.DeleteWorkload(ctx, d.Cluster, ref)
	}
	if errors.Is(err, reloader.ErrOutrun) {
		return again // whoever led before has stored a late word; if we lead no more, this is not asked again
	}
	if t != nil && (err != nil || whole) { // a record without every baseline shows nothing about the store: it may have been lost since
		d.mu.Lock()
		d.tried(t, recording, err)
		d.mu.Unlock()
	}
	if err != nil {
		line := []any{"workload", ref.String(), "error", err}
		if stored < len(waiting) {
			line = append(line, "reload", waiting[stored].reload.ID, "changes", changesOf(waiting[stored].reload.Causes))
		}
		d.Logger.Warn("record of a workload is not stored yet", line...)
		return again
	}
	if whole {
		d.mu.Lock()
		t.recorded = true
		d.mu.Unlock()
	}
	return 0
}

// StoreAgain stores what is known of every workload once more: the store has lost it.
func (d *Dispatcher) StoreAgain() {
	d.mu.Lock()
	refs := slices.AppendSeq(slices.Collect(maps.Keys(d.records)), maps.Keys(d.index.byRef))
	d.mu.Unlock()
	for _, ref := range refs {
		d.settleQ.Add(ref)
	}
}

// unstored returns what is to be recorded of a workload: its finished reloads and its record. That is the one of an earlier process if the workload
// was not seen yet, and nil if it is not tracked. whole says that the record has every baseline.
func (d *Dispatcher) unstored(ref reloader.WorkloadRef) (t *tracked, waiting []finished, record *reloader.WorkloadRecord, whole bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting = slices.Clone(d.finished[ref])
	for i := range waiting {
		waiting[i].reload.Causes = d.attributed(waiting[i].reload.Causes)
	}
	if t = d.index.get(ref); t != nil {
		r := d.record(t)
		record = &r
	} else if r, kept := d.records[ref]; kept {
		record = &r
	}
	return t, waiting, record, t != nil && !t.unsettled
}

// forgetFinished forgets the first n finished reloads of a workload.
func (d *Dispatcher) forgetFinished(ref reloader.WorkloadRef, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.finished[ref] = d.finished[ref][n:]; len(d.finished[ref]) == 0 {
		delete(d.finished, ref)
	}
}

// attributed returns causes with the candidates that became known since the reload was decided. The caller holds mu.
func (d *Dispatcher) attributed(causes []reloader.Cause) []reloader.Cause {
	known := causes
	for _, c := range known {
		causes = attributedTo(causes, d.latest[c.Config].Change)
	}
	return causes
}

// store appends the reloads that are not in the stream yet and returns how many it got through.
func (d *Dispatcher) store(ctx context.Context, waiting []finished) (int, error) {
	for i, f := range waiting {
		r := f.reload
		if f.renamed != nil {
			if err := d.storeCandidates(ctx, r.Workload, *f.renamed); err != nil {
				return i, err
			}
			continue
		}
		if r.Rollout != nil {
			if err := d.storeRollout(ctx, r); err != nil {
				return i, err
			}
			continue
		}
		if r.Outcome == reloader.ReasonReloaded && r.PatchedAt.IsZero() {
			// Somebody patched before us and may have died before or after saying so.
			last, ok, err := d.Records.LastReload(ctx, d.Cluster, r.Workload)
			if err != nil {
				return i, err
			}
			if ok && last.ID == r.ID {
				continue
			}
			r.Message = "patched by a process that ended before it could record it"
		}
		if err := d.Records.AppendReload(ctx, r); err != nil {
			return i, err
		}
		d.Announcer.Announce(f.w, r)
	}
	return len(waiting), nil
}

// storeRollout appends r once more, with what became of it. If another process recorded it, it is looked up; what is not the last reload on
// record any more stays as it is.
func (d *Dispatcher) storeRollout(ctx context.Context, r reloader.Reload) error {
	if !r.DecidedAt.IsZero() {
		return d.Records.AppendReload(ctx, r)
	}
	last, ok, err := d.Records.LastReload(ctx, d.Cluster, r.Workload)
	if err != nil || !ok || last.ID != r.ID || last.Outcome != reloader.ReasonReloaded {
		return err
	}
	last.Rollout = r.Rollout
	return d.Records.AppendReload(ctx, last)
}

// record says what is known about t. The caller holds mu.
func (d *Dispatcher) record(t *tracked) reloader.WorkloadRecord {
	r := reloader.WorkloadRecord{
		Cluster: d.Cluster, Workload: t.w.Ref(), UID: string(t.w.UID), Dialect: t.interest.Dialect(),
		Strategy: d.strategyName(t), Problems: slices.Clone(t.interest.Problems),
		LastReload: t.lastReload, Pace: t.pace, Recent: slices.Clone(t.recent), MarkedAt: t.markedAt, ListedAt: t.listed, Terms: d.terms(t), UpdatedAt: time.Now(),
		Requested: t.requested, Retried: t.retried,
	}
	if len(t.pending) > 0 {
		r.WaitsSince = t.first
	}
	if t.crowded != "" {
		r.Problems = append(r.Problems, t.crowded)
	}
	r.Missing, r.Unreadable = d.lacks(t), d.unreadableOf(t)
	r.Hold = d.pauseHold(t)
	if t.hold != nil {
		hold := *t.hold
		r.Hold = &hold
	}
	if t.rollout != nil {
		state := t.rollout.state
		r.Rollout = &state
	}
	for c := range t.edges {
		r.Edges = append(r.Edges, d.edge(t, c))
	}
	slices.SortFunc(r.Edges, func(a, b reloader.Edge) int { return compareConfigs(a.Config, b.Config) })
	return r
}

func (d *Dispatcher) edge(t *tracked, c reloader.Config) reloader.Edge {
	f := onRecord(t.w, c, d.facts[c])
	why := d.decide(t.w, c, f)
	e := reloader.Edge{
		Config: c, Why: why.Why, Clause: why.Clause, UsedKeys: why.UsedKeys, Handled: t.handled[c],
	}
	if ref := t.w.Template.References[c]; ref != nil {
		e.Uses = ref.Uses
	}
	if p := t.pending[c]; p != nil {
		e.Pending = p.changes[len(p.changes)-1].ID
	}
	return e
}
