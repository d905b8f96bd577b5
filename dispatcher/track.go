package dispatcher

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/fleet"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	// RequestedAnnotation on a workload asks for one roll by each new value.
	RequestedAnnotation = mark.RequestedKey
	// RetryAnnotation on a workload asks, by each new value, for another try of what holds the workload back, and takes back that its stalled
	// rollout halts those of others.
	RetryAnnotation = dialect.RetryKey
)

// Track tells the dispatcher that w exists and how it looks now. A workload that no dialect asks anything for is forgotten, but for its State.
func (d *Dispatcher) Track(w *workload.Workload) {
	if d.progressed(w) {
		return
	}
	p := d.compile(w)
	d.noteOwed(w, &p)
	if !p.OptedIn() {
		d.untrack(w.Ref(), false)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.index.byRef[w.Ref()]
	if t == nil || t.w.UID != w.UID {
		if t != nil {
			d.overtake(t, "it was made anew")
		}
		t = d.adopt(w, &p)
	} else if older(w, t.w) {
		return // the answer to our own patch was newer
	}
	before, known := t.w, d.index.byRef[w.Ref()] == t
	samePatterns := slices.EqualFunc(t.plan.Patterns, p.Patterns, samePattern)
	problems := t.plan.Problems
	if t.plan.Chosen.Pause.Begun && !p.Chosen.Pause.Begun && t.rollout.rolling() {
		t.rollout.state.StartedAt = time.Now() // its time begins when the pause ends
	}
	t.w, t.plan = w, &p
	if known && !samePatterns {
		t.state.Listed, t.relist = time.Time{}, true
	}
	d.index.put(t)
	d.readState(t)
	if !known {
		d.adoptRecord(t)
	}
	if !known || !before.Alike(w) {
		d.reopen(t)
		d.recordQ.Add(w.Ref())
	}
	d.complain(t, problems)
	if d.retries(t) {
		d.letOthersTry(t)
	}
	d.watchRollout(t)
	d.workloadQ.Add(w.Ref())
}

func samePattern(a, b dialect.Pattern) bool { return a.Kind == b.Kind && a.String() == b.String() }

// compile returns what w asks for. A config of this cluster that w follows by the name of the cluster, and may be asked for without that as well, is
// named once.
func (d *Dispatcher) compile(w *workload.Workload) dialect.Plan {
	p := d.Dialects.Compile(w)
	names := slices.Clone(p.Names)
	for i, c := range names {
		if home := fleet.AtHome(c); c.Cluster == d.Cluster && c.Cluster != "" && p.Matches(home) {
			names[i] = home
		}
	}
	slices.SortFunc(names, compareConfigs)
	p.Names = slices.Compact(names)
	return p
}

// older reports whether w is certainly an earlier version of other.
func older(w, other *workload.Workload) bool {
	before := func(a, b *workload.Workload) bool {
		order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
		return a.UID == b.UID && err == nil && order < 0
	}
	return before(w, other) || w.Via != nil && other.Via != nil && before(w.Via, other.Via)
}

// progressed takes w if it tells nothing new but its progress, and reports whether that is so. Most updates are like that: the status of
// a workload changes with each of its pods.
func (d *Dispatcher) progressed(w *workload.Workload) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.index.byRef[w.Ref()]
	if t == nil || !t.w.Alike(w) {
		return false
	}
	if older(w, t.w) {
		return true
	}
	before := t.w.Progress
	if t.w = w; w.Progress != before {
		d.watchRollout(t)
	}
	return true
}

// complain tells of the problems of t that are not among known. The caller holds mu.
func (d *Dispatcher) complain(t *tracked, known []string) {
	for _, problem := range t.plan.Problems {
		if !slices.Contains(known, problem) {
			d.Announcer.Complain(t.w, problem)
			d.Logger.Warn("faulty annotation", "workload", t.w.Ref().String(), "problem", problem)
		}
	}
}

// adopt returns the tracked form of a workload that is new to this process, with its State and what an earlier process recorded of it. The caller
// holds mu.
func (d *Dispatcher) adopt(w *workload.Workload, p *dialect.Plan) *tracked {
	t := &tracked{w: w, plan: &dialect.Plan{Workload: w}, edges: map[reloader.Config]*edge{}}
	d.adoptState(t, p)
	t.relist = true
	return t
}

// reopen has everything about t decided again that may have become another answer since its annotations or template changed. The caller holds mu.
func (d *Dispatcher) reopen(t *tracked) {
	for _, e := range t.edges {
		e.reopen()
	}
	writes := map[reloader.Config]*applied.Write{}
	for c, w := range t.state.Writes {
		switch {
		case t.edges[c] != nil || w.Out:
		case t.plan.Matches(c): // a pattern wants it, whether it is still there or not
			d.index.match(t, c)
		default:
			writes[c] = outOf(t.state, c)
		}
	}
	d.noteWrites(t, writes, time.Now())
}

// Forget tells the dispatcher that a workload is gone.
func (d *Dispatcher) Forget(ref reloader.WorkloadRef) {
	d.abandonOwed(ref)
	d.untrack(ref, true)
}

// forgetGone forgets t, whose workload is gone, and not another of its name that was seen by then.
func (d *Dispatcher) forgetGone(t *tracked, ref reloader.WorkloadRef) {
	if d.trackedBy(ref) == t {
		d.Forget(ref)
	}
}

// untrack ends what is done about a workload. Its State stays in the ledger, marked as out, unless it is gone.
func (d *Dispatcher) untrack(ref reloader.WorkloadRef, gone bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.index.byRef[ref]
	_, recorded := d.records.earlier[ref]
	delete(d.records.earlier, ref)
	d.releaseState(ref, t, gone)
	if t == nil && !recorded {
		return
	}
	if t != nil {
		d.overtake(t, "it is gone, or asks for nothing any more")
		d.index.remove(ref)
		d.nextAfter(t)
	}
	d.recordQ.Add(ref)
}

// asked reports whether t has a value of RequestedAnnotation for which it was not rolled. The caller holds mu.
func (d *Dispatcher) asked(t *tracked) bool {
	value := t.w.Annotations[RequestedAnnotation]
	return value != "" && reloader.ValueID(value) != t.state.Requested
}

// retries reports whether t has a value of RetryAnnotation that it did not have when it was last rolled, or had nothing to try again. The caller
// holds mu.
func (d *Dispatcher) retries(t *tracked) bool {
	value := t.w.Annotations[RetryAnnotation]
	return value != "" && reloader.ValueID(value) != t.state.Retried
}

// letOthersTry has the workloads tried that may wait for t. The caller holds mu.
func (d *Dispatcher) letOthersTry(t *tracked) {
	for c := range t.edges {
		for ref, other := range d.index.byConfig[c] {
			if e := other.edges[c]; e != nil && e.behind {
				d.workloadQ.Add(ref)
			}
		}
	}
}

// newerVersion reports whether one resource version is certainly later than another.
func newerVersion(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}
