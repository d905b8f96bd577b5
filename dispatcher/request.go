package dispatcher

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	// RequestedAnnotation on a workload asks for one roll by each new value. In a pod template it has the ID of the reload that came of it.
	RequestedAnnotation = strategy.RequestedKey
	// RetryAnnotation on a workload asks, by each new value, for another try of what holds the workload back, and takes back that its stalled
	// rollout halts those of others.
	RetryAnnotation = dialect.RetryKey

	// maxRequested bounds the value of RequestedAnnotation in records.
	maxRequested = 256
)

// asked reports whether t has a value of RequestedAnnotation for which it was not rolled. What it had when it was first seen does not count.
// The caller holds mu.
func (d *Dispatcher) asked(t *tracked) bool {
	value := t.w.Annotations[RequestedAnnotation]
	return value != "" && reloader.ValueID(value) != t.requested
}

// insists reports whether t has a value of RetryAnnotation that it did not have when it was last rolled, or had nothing to try again.
// The caller holds mu.
func (d *Dispatcher) insists(t *tracked) bool {
	value := t.w.Annotations[RetryAnnotation]
	return value != "" && reloader.ValueID(value) != t.retried
}

// tryAgain has t tried at once, and whatever waits for it. The caller holds mu.
func (d *Dispatcher) tryAgain(t *tracked) {
	d.flushQ.Add(t.w.Ref())
	for c := range t.edges {
		delete(d.denials, c)
		for ref, other := range d.index.byConfig[c] {
			if other.pending[c] != nil {
				d.flushQ.Add(ref)
			}
		}
	}
}

// serveRequest rolls a workload if somebody asks for that, and returns how long to wait; 0 if nobody asks, or it is done. It runs in the turn of
// the workload's flush, so that no two rolls of it meet.
func (d *Dispatcher) serveRequest(ctx context.Context, ref reloader.WorkloadRef) time.Duration {
	t, wait := d.requestDue(ref)
	if t == nil {
		return wait
	}
	decidedAt := time.Now()
	for range maxRereads {
		w, id := d.requested(t)
		var patched *workload.Workload
		if d.reloadOn(w) != id && w.Dormant == "" { // otherwise an earlier process did it and did not record it
			var err error
			patched, err = d.writeRequest(ctx, t, w, id, decidedAt)
			if fateOf(err) == fateStale {
				if moved, readErr := d.reread(ctx, t, w, err); readErr == nil && moved {
					continue
				}
			}
			if err != nil {
				return d.holdBack(t, decidedAt, w, nil, err)
			}
		}
		d.concludeRequest(t, w, patched, id, decidedAt)
		return 0
	}
	return again
}

// requestDue returns the workload if it is to be rolled at somebody's request now, or how long to wait; 0 if nobody asks. A request waits for no
// window and no limit on rates. A freeze or a pause holds it back.
func (d *Dispatcher) requestDue(ref reloader.WorkloadRef) (*tracked, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.index.get(ref)
	if t == nil || !d.asked(t) {
		return nil, 0
	}
	if !d.ready.Load() {
		return nil, unquietTime
	}
	now := time.Now()
	if hold := d.heldByOperator(t, now); hold != nil {
		return nil, d.holdByBrake(t, hold, now)
	}
	return t, 0
}

// requested returns t's workload, and the ID of the reload that it asks for.
func (d *Dispatcher) requested(t *tracked) (w *workload.Workload, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return t.w, reloader.RequestID(d.Cluster, string(t.w.UID), t.lastReload, t.w.Annotations[RequestedAnnotation])
}

// writeRequest writes what makes w roll, if it is still as it was read. Nothing is written in a dry run.
func (d *Dispatcher) writeRequest(ctx context.Context, t *tracked, w *workload.Workload, id string, now time.Time) (*workload.Workload, error) {
	if d.DryRun {
		return nil, nil
	}
	if d.Webhook != nil {
		return nil, d.call(ctx, d.requestedReload(t, w, id, now))
	}
	chosen := d.strategyOf(w)
	target := chosen.Target(w)
	ops := append(strategy.Precondition(target), chosen.Request(w, id, now)...)
	ops = append(ops, strategy.Annotate(target, LastReloadAnnotation, id)...)
	rolled, err := d.Workloads.Roll(ctx, target, strategy.Roll{Ops: ops, FieldManager: workload.MarkManager, Name: id})
	d.metrics.tried(err)
	if err == nil && target != w {
		rolled = w.Through(rolled)
	}
	return rolled, err
}

// requestedReload describes the reload that somebody asked for.
func (d *Dispatcher) requestedReload(t *tracked, w *workload.Workload, id string, decidedAt time.Time) reloader.Reload {
	value := w.Annotations[RequestedAnnotation]
	r := reloader.Reload{
		ID: id, Cluster: d.Cluster, Workload: w.Ref(), UID: string(w.UID), Dialect: t.interest.Dialect(), Strategy: d.strategyName(t),
		Outcome: d.instead(), Causes: []reloader.Cause{}, Attempts: t.attempts + 1, DecidedAt: decidedAt,
		Requested: strings.ToValidUTF8(value[:min(len(value), maxRequested)], ""),
	}
	if w.Dormant != "" {
		r.Outcome = w.Dormant
	}
	if t.hold != nil && !slices.Contains(lagReasons, t.hold.Reason) {
		r.HeldBy = t.hold.Reason
	}
	if r.Outcome != reloader.ReasonReloaded {
		r.ID, r.Message = id+"-"+string(r.Outcome), reloader.Reasons[r.Outcome]
	}
	return r
}

// concludeRequest takes note of a reload that was made at somebody's request. patched is nil if nothing was written now.
func (d *Dispatcher) concludeRequest(t *tracked, w, patched *workload.Workload, id string, decidedAt time.Time) {
	now := time.Now()
	if patched != nil {
		d.notePause(patched)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.requestedReload(t, w, id, decidedAt)
	t.requested, t.retried = reloader.ValueID(w.Annotations[RequestedAnnotation]), reloader.ValueID(w.Annotations[RetryAnnotation])
	if r.Outcome == reloader.ReasonReloaded {
		if patched != nil {
			t.w, t.pace = newer(patched, t.w), paced(t.pace, now)
			r.PatchedAt, r.Generation = now, patched.Generation
			d.stakater.rolled(r.Workload, true)
		}
		d.remind(t, patched, id)
		followed := d.supersede(t)
		defer d.follow(followed, w.Progress, r)
	}
	d.finish(w, r)
	d.logRequested(r)
	d.settleQ.Add(w.Ref())
}
