package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// tracker takes how workloads look.
type tracker struct {
	*common
	*memory
}

// Track tells the dispatcher that w exists and how it looks now. A workload that no dialect asks anything for is forgotten, but for its State.
func (d *tracker) Track(w *workload.Workload) {
	b := d.lock()
	progressed := b.progressed(w)
	d.unlock()
	if progressed {
		return
	}
	p := d.Dialects.Compile(w)
	b = d.lock()
	defer d.unlock()
	b.owe(w, p.Chosen.Pause)
	if p.OptedIn() {
		b.track(w, &p)
	} else {
		b.untrack(w.Ref(), false)
	}
}

// track takes w, which opts in by p.
func (b *board) track(w *workload.Workload, p *dialect.Plan) {
	t := b.index.byRef[w.Ref()]
	known := t != nil && t.w.UID == w.UID
	switch {
	case known && older(w, t.w):
		return // the answer to our own patch was newer
	case !known:
		if t != nil {
			b.untrack(w.Ref(), true) // it was created again
		}
		t = &tracked{in: b.common, w: w, plan: &dialect.Plan{Workload: w}, listing: listing{relist: true}}
		b.states.adopt(t, p)
	}
	before, was := t.w, t.plan
	if was.Chosen.Pause.Begun && !p.Chosen.Pause.Begun && t.rollout.Rolling() {
		t.rollout.State.StartedAt = time.Now() // its time begins when the pause ends
	}
	t.w, t.plan = w, p
	if known && !slices.EqualFunc(was.Patterns, p.Patterns, dialect.Pattern.Same) {
		t.state.Listed, t.relist, t.idle = time.Time{}, true, nil
	}
	b.index.put(t)
	b.readState(t)
	if !known {
		b.adoptRecord(t)
	}
	if !known || !before.Alike(w) {
		b.reopen(t)
		b.recordNews(t)
	}
	b.complain(t, was.Problems)
	if t.retries() {
		b.gate.nextAfter(t) // others may wait for it
	}
	b.rollouts.watch(t)
	b.workloadQ.Add(w.Ref())
}

// older reports whether w is certainly an earlier version of other.
func older(w, other *workload.Workload) bool {
	before := func(a, b *workload.Workload) bool {
		return a.UID == b.UID && applied.CompareVersions(a.ResourceVersion, b.ResourceVersion) < 0
	}
	return before(w, other) || w.Via != nil && other.Via != nil && before(w.Via, other.Via)
}

// progressed takes w if it tells nothing new but its progress, and reports whether that is so. Most updates are like that: the status of
// a workload changes with each of its pods.
func (b *board) progressed(w *workload.Workload) bool {
	t := b.index.byRef[w.Ref()]
	if t == nil || !t.w.Alike(w) {
		return false
	}
	if older(w, t.w) {
		return true
	}
	t.w = w
	b.rollouts.watch(t)
	return true
}

func (d *common) complain(t *tracked, known []string) {
	for _, problem := range t.plan.Problems {
		if !slices.Contains(known, problem) {
			d.Announcer.Complain(t.w, problem)
			d.Logger.Warn("faulty annotation", "workload", t.w.Ref().String(), "problem", problem)
		}
	}
}

// reopen has everything about t decided again that may have become another answer since its annotations or template changed.
func (b *board) reopen(t *tracked) {
	for _, e := range t.edges.All() {
		e.reopen()
	}
	writes := map[reloader.Config]*applied.Write{}
	for c, w := range t.state.Writes.All() {
		switch {
		case t.edges.Get(c) != nil || w.Out:
		case t.plan.Matches(c): // a pattern wants it, whether it is still there or not
			b.index.link(t, c)
		default:
			w.Out = true
			writes[c] = &w
		}
	}
	b.states.note(t, writes, time.Now())
}

// Forget tells the dispatcher that a workload is gone.
func (d *tracker) Forget(ref reloader.WorkloadRef) {
	b := d.lock()
	defer d.unlock()
	b.oweNow(ref)
	b.untrack(ref, true)
}

func (d *tracker) trackedBy(ref reloader.WorkloadRef) *tracked {
	b := d.lock()
	defer d.unlock()
	return b.index.byRef[ref]
}

// reread brings a workload up to date.
func (d *tracker) reread(ctx context.Context, ref reloader.WorkloadRef) error {
	w, err := d.Workloads.Read(ctx, ref)
	if err != nil {
		return fmt.Errorf("read %s again: %w", ref, err)
	}
	d.Track(w)
	return nil
}

// untrack ends what is done about a workload. Its State stays in the ledger, marked as out, unless it is gone.
func (b *board) untrack(ref reloader.WorkloadRef, gone bool) {
	t := b.index.byRef[ref]
	_, recorded := b.records.earlier[ref]
	delete(b.records.earlier, ref)
	b.states.release(ref, t, gone)
	if t != nil {
		b.rollouts.overtake(t, "it is gone, or asks for nothing any more")
		b.index.remove(t)
		b.gate.nextAfter(t)
	}
	if t != nil || recorded {
		b.recordQ.Add(ref)
	}
}
