package dispatcher

import (
	"context"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// finished is a reload that is to be recorded, and the workload as it was then.
type finished struct {
	w      *workload.Workload
	reload reloader.Reload
}

// recordDelay is how long records of reloads make way for patches, so that the last of many dependents does not wait until the first
// ones are written down and announced.
const recordDelay = 100 * time.Millisecond

// settleRest has recorded at once what still makes way.
func (d *Dispatcher) settleRest() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ref := range d.finished {
		d.settleQ.Add(ref)
	}
}

// settle records what is known about a workload: first its finished reloads, then its record. A workload that is gone loses its
// record. What cannot be stored is tried again for as long as it takes; until then the mark and the annotation on the workload
// say the same.
func (d *Dispatcher) settle(ctx context.Context, ref reloader.WorkloadRef) time.Duration {
	d.mu.Lock()
	waiting := slices.Clone(d.finished[ref])
	for i := range waiting {
		waiting[i].reload.Causes = d.attributed(waiting[i].reload.Causes)
	}
	var record *reloader.WorkloadRecord
	t := d.index.get(ref)
	if t != nil {
		r := d.record(t)
		record = &r
	}
	whole := t != nil && !t.unsettled
	d.mu.Unlock()

	stored, err := d.store(ctx, waiting)
	d.mu.Lock()
	if d.finished[ref] = d.finished[ref][stored:]; len(d.finished[ref]) == 0 {
		delete(d.finished, ref)
	}
	d.mu.Unlock()
	switch {
	case err != nil:
	case record != nil:
		err = d.Records.PutWorkload(ctx, *record)
	default:
		err = d.Records.DeleteWorkload(ctx, d.Cluster, ref)
	}
	d.stakater.failed(err)
	if err != nil {
		d.Logger.Warn("record of a workload is not stored yet", "workload", ref.String(), "error", err)
		return again
	}
	if whole {
		d.mu.Lock()
		t.recorded = true
		d.mu.Unlock()
	}
	return 0
}

// attributed returns causes with the candidates that became known since the reload was decided. The caller holds mu.
func (d *Dispatcher) attributed(causes []reloader.Cause) []reloader.Cause {
	causes = slices.Clone(causes)
	for i, c := range causes {
		if l := d.latest[c.Config].Change; l.ID == c.ChangeID {
			causes[i].Candidates = l.Candidates
		}
	}
	return causes
}

// store appends the reloads that are not in the stream yet and returns how many it got through.
func (d *Dispatcher) store(ctx context.Context, waiting []finished) (int, error) {
	for i, f := range waiting {
		r := f.reload
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
		Cluster: d.Cluster, Workload: t.w.Ref(), UID: string(t.w.UID), Dialect: t.interest.Dialect,
		Strategy: d.strategyName(t), Problems: slices.Clone(t.interest.Problems),
		LastReload: t.lastReload, Pace: t.pace, Recent: slices.Clone(t.recent), MarkedAt: t.markedAt, ListedAt: t.listed, UpdatedAt: time.Now(),
	}
	if t.refused != "" {
		r.Problems = append(r.Problems, t.refused)
	}
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
	why := d.decide(t.w, c, d.facts[c])
	e := reloader.Edge{Config: c, Why: why.Why, Clause: why.Clause, Handled: t.handled[c]}
	if ref := t.w.Template.References[c]; ref != nil {
		e.Uses = ref.Uses
	}
	if p := t.pending[c]; p != nil {
		e.Pending = p.changes[len(p.changes)-1].ID
	}
	return e
}
