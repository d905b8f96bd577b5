package dispatcher

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// maxRereads is how often in a row a workload that moved under our hands is read and decided again before it has to wait.
const maxRereads = 5

// flush rolls a workload whose window has closed, or records why it does not roll.
func (d *Dispatcher) flush(ctx context.Context, ref reloader.WorkloadRef) time.Duration {
	if wait := d.serveRequest(ctx, ref); wait != 0 {
		return wait
	}
	if wait := d.release(ctx, ref); wait != 0 {
		return wait
	}
	t, wait := d.due(ref)
	if t == nil {
		return wait
	}
	defer d.rolling()()
	decidedAt := time.Now()
	for range maxRereads {
		if !d.tracks(t) {
			return 0 // it was replaced or opted out; who took its place waits for itself
		}
		w, steps, err := d.plan(ctx, t)
		if err != nil {
			return d.holdBack(t, decidedAt, w, steps, err)
		}
		hold, err := d.lacking(ctx, t, w, steps)
		switch {
		case err != nil:
			return d.holdBack(t, decidedAt, w, steps, err)
		case hold != nil:
			return d.holdUntilThere(t, hold)
		}
		patched, id, err := d.roll(ctx, t, w, steps)
		if fateOf(err) == fateStale {
			if moved, readErr := d.reread(ctx, t, w, err); readErr != nil {
				return d.holdBack(t, decidedAt, w, steps, readErr)
			} else if moved {
				continue
			}
		}
		if err != nil {
			return d.holdBack(t, decidedAt, w, steps, err)
		}
		return d.conclude(t, w, patched, steps, id, decidedAt)
	}
	return again
}

// due returns the workload if it is to be flushed now, or how long to wait; 0 if there is nothing to do.
func (d *Dispatcher) due(ref reloader.WorkloadRef) (*tracked, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.index.get(ref)
	if t == nil {
		return nil, 0
	}
	if len(t.pending) == 0 {
		d.relax(t)
		return nil, 0
	}
	now := time.Now()
	if wait := t.due.Sub(now); wait > 0 {
		return nil, wait
	}
	if wait := d.unquiet(t, now); wait > 0 {
		return nil, wait
	}
	if hold := d.brake(t, now); hold != nil {
		return nil, d.holdByBrake(t, hold, now)
	}
	t.going = true
	return t, 0
}

// unquiet returns how long t has to wait although its window has passed, because it is not known yet what else is to go out with it: its
// edges are still being settled, as long as none of them fails, or hints about its configs are still to be verified, when many change at once.
// It waits for edges with a baseline no longer than settleTime, and for hints no longer than the maximum wait. The caller holds mu.
func (d *Dispatcher) unquiet(t *tracked, now time.Time) time.Duration {
	if d.inSteps() && !d.ready.Load() {
		return unquietTime // who else waits for the same change is not known yet
	}
	settling := t.refused == "" && !t.stuck
	if settling && (t.lacksBaseline() || t.unsettled && now.Before(t.pendingSince().Add(settleTime))) {
		return unquietTime
	}
	window, maxWait := d.waits(t)
	left := t.first.Add(maxWait).Sub(now)
	if window == 0 || left <= 0 || len(d.parked)+len(d.verifying) == 0 {
		return 0
	}
	for c := range t.edges {
		if !d.shows(t.w, c, d.facts[c]) {
			continue // when it is written to is not to be told either
		}
		if _, verifying := d.verifying[c]; verifying || len(d.parked[c]) > 0 {
			return min(left, unquietTime)
		}
	}
	return 0
}

const (
	// unquietTime is after what time it is looked again whether edges are still to be settled, or hints to be verified.
	unquietTime = 50 * time.Millisecond
	// settleTime is how long what is known to be pending waits for what the other edges have.
	settleTime = 10 * time.Second
)

// relax ends the waiting of a workload that no longer depends on what it waited for. The caller holds mu.
func (d *Dispatcher) relax(t *tracked) {
	if t.hold != nil {
		d.settleQ.Add(t.w.Ref())
	}
	d.letOff(t)
}

// letOff has t wait for nothing. The caller holds mu.
func (d *Dispatcher) letOff(t *tracked) {
	if t.rollout.ended() {
		t.retried = reloader.ValueID(t.w.Annotations[RetryAnnotation])
	}
	t.hold, t.was, t.attempts, t.first, t.waited, t.slot, t.going = nil, nil, 0, time.Time{}, time.Time{}, slot{}, false
}

func (d *Dispatcher) tracks(t *tracked) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.index.get(t.w.Ref()) == t
}

// reread brings t up to date after the API server refused a patch of w as outdated, and reports whether the workload had moved.
func (d *Dispatcher) reread(ctx context.Context, t *tracked, w *workload.Workload, refusal error) (moved bool, err error) {
	live, err := d.Workloads.Read(ctx, w.Ref())
	if apierrors.IsInvalid(refusal) {
		d.metrics.triedInvalid(err, err == nil && !live.Same(w))
	}
	if err != nil {
		return false, fmt.Errorf("read %s again: %w", w.Ref(), err)
	}
	if live.Same(w) {
		return false, nil
	}
	d.Track(live)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.index.get(w.Ref()) == t {
		t.w = live
	}
	return true, nil
}
