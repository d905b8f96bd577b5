package dispatcher

import (
	"encoding/json"
	"hash/fnv"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/rollout"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// records are what people are to read about workloads. No decision depends on them.
type records struct {
	*common
	// earlier are the records of workloads that this process has not seen yet.
	earlier map[reloader.WorkloadRef]reloader.WorkloadRecord
	// finished has the reloads that are not stored yet. They outlive their workload.
	finished map[reloader.WorkloadRef][]finished
}

// finished is a reload that must be recorded, and the workload as it was then.
type finished struct {
	w      *workload.Workload
	reload reloader.Reload
	// amend returns what to record instead, given the last reload on record, and whether that is news; nil if that is reload.
	amend func(last reloader.Reload) (reloader.Reload, bool)
}

// recordDelay is how long a record waits for what follows soon.
const recordDelay = 50 * time.Millisecond

// maxFinished bounds the reloads of one workload that wait for NATS to come back.
const maxFinished = 50

func (r *records) finish(w *workload.Workload, reload reloader.Reload) {
	r.metrics.Decided(reload.Outcome)
	f := finished{w: w, reload: reload}
	if reload.Outcome == reloader.ReasonReloaded && reload.PatchedAt.IsZero() { // the process that made it may have recorded it
		f.amend = func(last reloader.Reload) (reloader.Reload, bool) { return reload, last.ID != reload.ID }
	}
	r.add(f)
}

// attribute adds what has become known of a change to the last reload of w, if the change is one of its causes.
func (r *records) attribute(w *workload.Workload, change reloader.Change) {
	r.add(finished{w: w, amend: func(last reloader.Reload) (_ reloader.Reload, news bool) {
		last.Causes, news = attributedTo(last.Causes, change)
		return last, news
	}})
}

func (r *records) add(f finished) {
	ref := f.w.Ref()
	all := append(r.finished[ref], f)
	r.finished[ref] = all[max(0, len(all)-maxFinished):]
	r.recordQ.AddAfter(ref, recordDelay)
}

// stored drops the first of the finished reloads of a workload.
func (r *records) stored(ref reloader.WorkloadRef) {
	if r.finished[ref] = r.finished[ref][1:]; len(r.finished[ref]) == 0 {
		delete(r.finished, ref)
	}
}

// recordNews has the record of t stored soon, unless the stored one says the same. A start would otherwise store all records again.
func (b *board) recordNews(t *tracked) {
	if t.recorded == 0 || printOf(b.scribe.record(t)) != t.recorded {
		b.recordQ.AddAfter(t.w.Ref(), recordDelay)
	}
}

// printOf returns a number that stands for what r says, whenever it was published.
func printOf(r reloader.WorkloadRecord) uint64 {
	r.UpdatedAt = time.Time{}
	said := fnv.New64a()
	_ = json.NewEncoder(said).Encode(r) // texts, numbers and times
	return said.Sum64()
}

// adoptRecord gives t what an earlier process recorded of it: how it came to its entries, what held it back, and what it follows.
func (b *board) adoptRecord(t *tracked) {
	r, ok := b.records.earlier[t.w.Ref()]
	delete(b.records.earlier, t.w.Ref())
	if !ok || r.UID != string(t.w.UID) {
		return
	}
	t.reload, t.recorded = r.LastReload, printOf(r)
	said := applied.State{}
	for _, e := range r.Edges {
		w, edge := t.state.Writes.Get(e.Config), t.edges.Get(e.Config)
		if w.Sum != e.Applied.Sum {
			continue
		}
		if said.Writes.Set(e.Config, w); edge == nil {
			continue
		}
		edge.how, edge.at = e.How, e.At
		if e.Pending != "" {
			edge.wait = edge.wait.Heard(r.WaitsSince, time.Now())
		}
	}
	if r.Hold.DeadLetter() {
		t.hold = r.Hold
	}
	if r.Rollout != nil {
		t.rollout = rollout.Recorded(r.LastReload, *r.Rollout, time.Now())
	}
	if t.state.N > 0 && r.LastReload != b.scribe.rollID(t, t.state) {
		b.rolledElsewhere(t, said) // the process that made the last roll ended before it could say so
	}
}
