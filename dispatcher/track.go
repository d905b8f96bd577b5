package dispatcher

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Track tells the dispatcher that w exists and how it looks now. Workloads that no dialect asks anything for are forgotten.
func (d *Dispatcher) Track(w *workload.Workload) {
	if d.progressed(w) {
		return
	}
	d.mindPause(w)
	plan := d.planOf(w)
	if !plan.OptedIn() {
		d.plans.drop(w.Ref())
		d.untrack(w.Ref())
		return
	}
	interest := d.onceEach(*plan)
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.index.get(w.Ref())
	if t == nil || t.w.UID != w.UID {
		if t != nil {
			d.overtake(t, "it was made anew")
		}
		t = d.adopt(w)
	}
	if w.Older(t.w) {
		return // the answer to our own patch was newer
	}
	if d.retells(t.w, w) {
		d.settleQ.Add(w.Ref())
	}
	if t.hold != nil && !t.w.Alike(w) {
		d.flushQ.Add(w.Ref()) // what was in the way may be gone, or somebody asks for another try
	}
	retried := t.w.Annotations[RetryAnnotation] != w.Annotations[RetryAnnotation]
	t.w = w
	if d.asked(t) || retried {
		d.tryAgain(t)
	}
	if !sameInterest(t.interest, interest) {
		d.settleQ.Add(w.Ref())
		d.complain(w, t.interest.Problems, interest.Problems)
	}
	if d.index.put(t, interest) {
		t.unsettled = true
		d.edgesQ.Add(w.Ref())
	}
	if d.unscheduled(w) {
		d.flushQ.Add(w.Ref())
	}
	d.watchRollout(t)
}

// progressed takes w if it tells nothing new but its progress, and reports whether that is so. Most updates are like that: the status of
// a workload changes with each of its pods.
func (d *Dispatcher) progressed(w *workload.Workload) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.index.get(w.Ref())
	if t == nil || !t.w.Alike(w) {
		return false
	}
	before := t.w.Progress
	if t.w = w; w.Progress != before {
		d.watchRollout(t)
	}
	return true
}

// complain tells of problems that are new. The caller holds mu.
func (d *Dispatcher) complain(w *workload.Workload, known, problems []string) {
	for _, problem := range problems {
		if !slices.Contains(known, problem) {
			d.Announcer.Complain(w, problem)
			d.Logger.Warn("faulty annotation", "workload", w.Ref().String(), "problem", problem)
		}
	}
}

// adopt returns the tracked form of a workload that is new to this process, with what an earlier process recorded of it.
func (d *Dispatcher) adopt(w *workload.Workload) *tracked {
	t := newTracked(w)
	t.requested, t.retried = reloader.ValueID(w.Annotations[RequestedAnnotation]), reloader.ValueID(w.Annotations[RetryAnnotation])
	if r, ok := d.records[w.Ref()]; ok && r.UID == string(w.UID) {
		t.lastReload, t.pace, t.recent, t.markedAt = r.LastReload, r.Pace, r.Recent, r.MarkedAt
		t.waited, t.requested, t.retried = r.WaitsSince, r.Requested, r.Retried
		if t.was = r.Hold; t.was != nil {
			t.attempts = t.was.Attempts
		}
		d.resumeRollout(t, r)
		for _, e := range r.Edges {
			if e.Handled.How != "" {
				t.handled[e.Config] = e.Handled
			} else {
				t.doubted[e.Config] = struct{}{}
			}
		}
		if t.listed = r.ListedAt; !t.listed.IsZero() && w.LastWritten.After(t.listed) {
			t.listed = w.LastWritten // its patterns may have been others before
		}
	}
	delete(d.records, w.Ref())
	return t
}

// Forget tells the dispatcher that a workload is gone, or no business of ours any more. A pause that was begun is ended at once.
func (d *Dispatcher) Forget(ref reloader.WorkloadRef) {
	d.untrack(ref)
	d.abandonPause(ref)
}

// untrack forgets a workload that asks for nothing any more.
func (d *Dispatcher) untrack(ref reloader.WorkloadRef) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.untrackLocked(ref)
}

// lose forgets t, whose workload is gone, unless another one of its name was made and tracked meanwhile.
func (d *Dispatcher) lose(t *tracked) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.index.get(t.w.Ref()) == t {
		d.untrackLocked(t.w.Ref())
	}
}

// untrackLocked is untrack for a caller that holds mu.
func (d *Dispatcher) untrackLocked(ref reloader.WorkloadRef) {
	d.plans.drop(ref)
	_, recorded := d.records[ref]
	if d.index.get(ref) == nil && !recorded {
		return
	}
	if t := d.index.get(ref); t != nil {
		d.overtake(t, "it is gone, or asks for nothing any more")
	}
	d.index.remove(ref)
	delete(d.records, ref)
	d.settleQ.Add(ref)
}
