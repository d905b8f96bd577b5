package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// records are what is to be told to people about workloads. No decision depends on them. Dispatcher.mu guards them.
type records struct {
	// earlier are the records of workloads that this process has not seen yet.
	earlier map[reloader.WorkloadRef]reloader.WorkloadRecord
	// finished has the reloads that are not stored yet. They outlive their workload.
	finished map[reloader.WorkloadRef][]finished
}

// finished is a reload that is to be recorded, and the workload as it was then.
type finished struct {
	w      *workload.Workload
	reload reloader.Reload
	// renamed is a change of which more is known than the reload on record says; nil if reload is to be recorded.
	renamed *reloader.Change
}

func newRecords() records {
	return records{earlier: map[reloader.WorkloadRef]reloader.WorkloadRecord{}, finished: map[reloader.WorkloadRef][]finished{}}
}

// recordDelay is how long a record waits for what follows soon.
const recordDelay = 50 * time.Millisecond

// maxFinished bounds the reloads of one workload that wait for NATS to come back.
const maxFinished = 50

// finish has r recorded. The caller holds mu.
func (d *Dispatcher) finish(w *workload.Workload, r reloader.Reload) {
	all := append(d.records.finished[w.Ref()], finished{w: w, reload: r})
	d.records.finished[w.Ref()] = all[max(0, len(all)-maxFinished):]
	d.metrics.Decided(r.Outcome)
	d.recordQ.AddAfter(w.Ref(), recordDelay)
}

// adoptRecord gives t what an earlier process recorded of it: how it came to its entries, what held it back, and what it follows. The caller holds mu.
func (d *Dispatcher) adoptRecord(t *tracked) {
	r, ok := d.records.earlier[t.w.Ref()]
	delete(d.records.earlier, t.w.Ref())
	if !ok || r.UID != string(t.w.UID) {
		return
	}
	t.reload = r.LastReload
	for _, e := range r.Edges {
		if edge := t.edges[e.Config]; edge != nil && strings.HasPrefix(e.Handled.Sum, t.state.Writes[e.Config].Sum) {
			edge.how, edge.at = e.Handled.How, e.Handled.At
			if e.Pending != "" {
				edge.wait = edge.wait.Heard(r.WaitsSince, time.Now())
			}
		}
	}
	if r.Hold.DeadLetter() {
		t.hold, t.attempts, t.failed = r.Hold, r.Hold.Attempts, r.Hold.Since
	}
	if r.Rollout != nil {
		t.rollout = &rollout{id: r.LastReload, state: *r.Rollout}
		t.rollout.state.StartedAt = earlier(r.Rollout.StartedAt, time.Now()) // that clock may have been ahead
	}
	d.recordUnsaid(t, r)
}

// recordUnsaid records the last roll of t if it is not the last on record r: the process that made it ended before it could say so. The caller holds mu.
func (d *Dispatcher) recordUnsaid(t *tracked, r reloader.WorkloadRecord) {
	if t.state.N == 0 || r.LastReload == reloader.RollID(d.Cluster, string(t.target().UID), t.state.N) {
		return
	}
	before := applied.State{Writes: map[reloader.Config]applied.Write{}}
	for _, e := range r.Edges {
		if w := t.state.Writes[e.Config]; strings.HasPrefix(e.Handled.Sum, w.Sum) {
			before.Writes[e.Config] = w
		}
	}
	d.rolledElsewhere(t, before)
}

// store records what is known about a workload: first its finished reloads, then its record. A workload that is gone loses its record. What cannot be stored
// is tried again for as long as it takes.
func (d *Dispatcher) store(ctx context.Context, ref reloader.WorkloadRef) time.Duration {
	if d.crowded() {
		return ledgerDelay
	}
	d.mu.Lock()
	waiting := slices.Clone(d.records.finished[ref])
	var record *reloader.WorkloadRecord
	if t := d.index.byRef[ref]; t != nil {
		r := d.record(t)
		record = &r
	} else if r, kept := d.records.earlier[ref]; kept {
		record = &r
	}
	d.mu.Unlock()
	stored, err := d.storeReloads(ctx, waiting)
	d.mu.Lock()
	rest := d.records.finished[ref]
	if d.records.finished[ref] = rest[min(stored, len(rest)):]; len(d.records.finished[ref]) == 0 {
		delete(d.records.finished, ref)
	}
	d.mu.Unlock()
	switch {
	case err != nil:
	case record != nil:
		err = d.History.PutWorkload(ctx, *record)
	default:
		err = d.History.DeleteWorkload(ctx, d.Cluster, ref)
	}
	if err != nil {
		if !errors.Is(err, reloader.ErrOutrun) { // a process that led before has stored a late word
			line := []any{"workload", ref.String(), "error", err}
			if stored < len(waiting) {
				line = append(line, "reload", waiting[stored].reload.ID, "changes", changesOf(waiting[stored].reload.Causes))
			}
			d.Logger.Warn("the record of a workload is not stored yet", line...)
		}
		return again
	}
	return 0
}

// storeReloads appends reloads, and returns how many it got through.
func (d *Dispatcher) storeReloads(ctx context.Context, waiting []finished) (int, error) {
	for i, f := range waiting {
		if f.renamed != nil {
			if err := d.storeAuthors(ctx, f.w.Ref(), *f.renamed); err != nil {
				return i, err
			}
			continue
		}
		r := f.reload
		if r.Outcome == "" || r.PatchedAt.IsZero() && r.Outcome == reloader.ReasonReloaded {
			last, ok, err := d.History.LastReload(ctx, d.Cluster, r.Workload)
			if err != nil {
				return i, err
			}
			switch known := ok && last.ID == r.ID; {
			case r.Outcome == "" && !known: // something else has followed
				continue
			case r.Outcome == "":
				last.Rollout = r.Rollout
				r = last
			case known:
				continue
			}
		}
		if err := d.History.AppendReload(ctx, r); err != nil {
			return i, fmt.Errorf("append reload %s: %w", r.ID, err)
		}
		if r.Rollout == nil {
			d.Announcer.Announce(f.w, r)
		}
	}
	return len(waiting), nil
}

// storeAuthors appends the last reload of a workload once more if change is among its causes and has other authors by now.
func (d *Dispatcher) storeAuthors(ctx context.Context, ref reloader.WorkloadRef, change reloader.Change) error {
	last, ok, err := d.History.LastReload(ctx, d.Cluster, ref)
	if err != nil || !ok {
		return err
	}
	news := slices.ContainsFunc(last.Causes, func(c reloader.Cause) bool {
		return c.ChangeID == change.ID && !sameAuthors(reloader.Change{ID: c.ChangeID, Candidates: c.Candidates}, change)
	})
	if !news {
		return nil
	}
	last.Causes = attributedTo(last.Causes, change)
	return d.History.AppendReload(ctx, last)
}

// storeRest has everything stored that is known, when nothing is begun any more.
func (d *Dispatcher) storeRest() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ref := range d.records.finished {
		d.recordQ.Add(ref)
	}
	for namespace := range d.states.changed {
		d.ledgerQ.Add(namespace)
	}
	for c, e := range d.configs {
		if len(e.unstored) > 0 {
			d.changeQ.Add(c)
		}
	}
}

// StoreAgain stores what is known once more: NATS has lost it.
func (d *Dispatcher) StoreAgain() {
	d.mu.Lock()
	defer d.mu.Unlock()
	refs := slices.AppendSeq(slices.Collect(maps.Keys(d.records.earlier)), maps.Keys(d.index.byRef))
	for _, ref := range refs {
		d.recordQ.Add(ref)
	}
	for c, e := range d.configs {
		if e.last.Change.Type != "" && len(e.unstored) == 0 && c.Cluster == "" {
			e.unstored, e.last.Sequence = []reloader.Change{e.last.Change}, 0
			d.changeQ.Add(c)
		}
	}
}

// record says what is known about t. The caller holds mu.
func (d *Dispatcher) record(t *tracked) reloader.WorkloadRecord {
	r := reloader.WorkloadRecord{
		Cluster: d.Cluster, Workload: t.w.Ref(), UID: string(t.w.UID), Dialect: dialectOf(t), Strategy: d.strategyName(t),
		Problems: slices.Clone(t.plan.Problems), LastReload: t.reload, Terms: d.terms(t), UpdatedAt: time.Now(),
		Pace: reloader.Pace{Rolls: t.state.Rolls, At: t.state.At}, Requested: t.state.Requested, Retried: t.state.Retried,
	}
	for _, problem := range []string{t.crowded, t.damaged} {
		if problem != "" {
			r.Problems = append(r.Problems, problem)
		}
	}
	r.WaitsSince = t.behindSince()
	r.Missing, r.Unreadable = d.lacks(t), d.unreadableOf(t)
	if p := t.plan.Chosen.Pause; p.Begun {
		r.Hold = &reloader.Hold{Reason: reloader.ReasonPaused, Since: p.Until.Add(-p.Period), Due: p.Until}
	}
	if t.hold != nil {
		hold := *t.hold
		r.Hold = &hold
	}
	if t.rollout != nil {
		state := t.rollout.state
		r.Rollout = &state
	}
	for c := range t.edges {
		r.Edges = append(r.Edges, d.edgeOf(t, c))
	}
	slices.SortFunc(r.Edges, func(a, b reloader.Edge) int { return compareConfigs(a.Config, b.Config) })
	return r
}

// edgeOf says what is known about the dependency of t on c. The caller holds mu.
func (d *Dispatcher) edgeOf(t *tracked, c reloader.Config) reloader.Edge {
	e := t.edges[c]
	known := d.entry(c)
	decision := t.plan.Decide(d.metaOf(c, publicOf(t, c, known.now)))
	out := reloader.Edge{Config: c, Why: decision.Why, Clause: decision.Clause, UsedKeys: decision.UsedKeys}
	if r := t.w.Template.References[c]; r != nil {
		out.Uses = r.Uses
	}
	if w, applied := t.state.Writes[c]; applied && !w.Out {
		out.Handled = reloader.Handled{KeyID: w.KeyID, Sum: wholeSum(w.Sum, known), How: e.how, At: e.at}
		if out.Handled.How == "" {
			out.Handled.How, out.Handled.At = reloader.ReasonBaseline, t.state.AsOf()
		}
	}
	if !decision.Reload && !e.open && out.Handled.How == "" { // the workload does not want it, and begins with what is there if it ever does
		out.Handled = reloader.Handled{KeyID: e.unwanted.KeyID, Sum: wholeSum(e.unwanted.Sum, known), How: reloader.ReasonBaseline, At: e.at}
	}
	if n := len(e.changes); e.behind && n > 0 {
		out.Pending = e.changes[n-1].ID
	}
	return out
}

// wholeSum returns the digest of which sum is the begin, as the history has it.
func wholeSum(sum string, e *entry) string {
	for _, whole := range []string{e.last.Change.New.Sum, e.last.Change.Old.Sum} {
		if sum != "" && strings.HasPrefix(whole, sum) {
			return whole
		}
	}
	return sum
}

// terms says what t itself asks for about when it is rolled and for what. The caller holds mu.
func (d *Dispatcher) terms(t *tracked) reloader.Terms {
	chosen := t.plan.Chosen
	terms := reloader.Terms{Dormant: t.w.Dormant, Keys: chosen.Keys.String(), MinInterval: int64(max(chosen.MinInterval, d.Limits.MinInterval) / time.Second)}
	for _, w := range chosen.Maintenance {
		terms.Windows = append(terms.Windows, w.String())
	}
	return terms
}
