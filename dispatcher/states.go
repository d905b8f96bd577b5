package dispatcher

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// states are the States of workloads beside those that are tracked, and what is to be written into the ledger. Dispatcher.mu guards it.
type states struct {
	// born is when the ledger was born.
	born time.Time
	// texts are the entries of workloads that are not tracked: they were not seen yet, or opted out.
	texts map[reloader.WorkloadRef]string
	// changed has, by namespace, the workloads whose entry is to be written.
	changed map[string]map[reloader.WorkloadRef]struct{}
	// writing has the namespaces whose ledger is being written.
	writing map[string]bool
}

func newStates() states {
	return states{texts: map[reloader.WorkloadRef]string{}, changed: map[string]map[reloader.WorkloadRef]struct{}{}, writing: map[string]bool{}}
}

// ledgerDelay is how long notes are gathered before the ledger of their namespace is written.
const ledgerDelay = 200 * time.Millisecond

// changed has the entry of a workload written soon. The caller holds mu.
func (d *Dispatcher) stateChanged(ref reloader.WorkloadRef) {
	put(d.states.changed, ref.Namespace, ref, struct{}{})
	d.ledgerQ.AddAfter(ref.Namespace, ledgerDelay)
}

// adoptState gives t, which is new to this process, the State that the ledger has for it. A workload without entry begins now: what it was asked for
// before it was seen is over. The caller holds mu.
func (d *Dispatcher) adoptState(t *tracked, p *dialect.Plan) {
	ref := t.w.Ref()
	uid := string(targetOf(t.w, p).UID)
	state, err := applied.ParseLedger(d.states.texts[ref], uid)
	if err != nil {
		d.Logger.Warn("the ledger's entry of a workload counts for nothing", "workload", ref.String(), "error", err)
		state = applied.State{}
	}
	delete(d.states.texts, ref)
	if !state.Known() {
		state.Workload = uid
		state.Requested, state.Retried = reloader.ValueID(t.w.Annotations[RequestedAnnotation]), reloader.ValueID(t.w.Annotations[RetryAnnotation])
	}
	t.state = state
}

// readState joins what the annotation of t's target says with what is known. A higher number of rolls there means that another process, or the admission
// webhook, has rolled it. The caller holds mu.
func (d *Dispatcher) readState(t *tracked) {
	target := t.target()
	text := target.Annotations[applied.Key]
	if text == t.text && t.object.Workload == t.state.Workload {
		return
	}
	object, problem := objectState(target, t.plan.Names)
	t.text, t.object, t.damaged = text, object, problem
	if problem != "" {
		d.Announcer.Complain(t.w, problem)
		d.recordQ.Add(t.w.Ref())
	}
	newest := applied.Newest(object, t.state)
	if newest.Ledger() != t.state.Ledger() {
		d.stateChanged(t.w.Ref())
	}
	d.joinState(t, newest)
}

// objectState returns what the annotation of target says, and what is wrong with it.
func objectState(target *workload.Workload, wanted []reloader.Config) (applied.State, string) {
	uid := string(target.UID)
	if target.Kind == workload.Job.Kind {
		uid = applied.NoUID // it was written before the Job existed
	}
	state, err := applied.Parse(target.Annotations[applied.Key], uid, wanted)
	if err != nil {
		return applied.State{}, applied.Key + ": " + err.Error() + "; it counts for nothing"
	}
	if state.Known() {
		state.Workload = string(target.UID)
	}
	return state, ""
}

// joinState makes newest the State of t, and has everything decided again that is another since. The caller holds mu.
func (d *Dispatcher) joinState(t *tracked, newest applied.State) {
	before := t.state
	t.state = newest
	changed := newest.N != before.N
	for c, w := range newest.Writes {
		if old, known := before.Writes[c]; known && old == w {
			continue
		}
		changed = true
		if e := t.edges[c]; e != nil {
			e.reopen()
		}
	}
	if !changed {
		return
	}
	if newest.N > before.N && newest.N != t.intends {
		t.since = time.Now()
		d.rolledElsewhere(t, before)
	}
	d.workloadQ.Add(t.w.Ref())
}

// noteWrites makes notes of t. The caller holds mu.
func (d *Dispatcher) noteWrites(t *tracked, writes map[reloader.Config]*applied.Write, at time.Time) {
	if len(writes) > 0 {
		t.state = t.state.Note(writes, at)
		d.stateChanged(t.w.Ref())
	}
}

// outOf returns the write that says that a workload of State s does not want c any more.
func outOf(s applied.State, c reloader.Config) *applied.Write {
	w := s.Writes[c]
	w.Out = true
	return &w
}

// releaseState ends the State of a workload that is not tracked any more: that of one that is gone is forgotten, and of one that opted out every entry is
// marked as out. t is nil if the workload was not tracked. The caller holds mu.
func (d *Dispatcher) releaseState(ref reloader.WorkloadRef, t *tracked, gone bool) {
	_, stored := d.states.texts[ref]
	switch {
	case gone && (stored || t != nil):
		delete(d.states.texts, ref)
	case !gone && t != nil:
		writes := make(map[reloader.Config]*applied.Write, len(t.state.Writes))
		for c := range t.state.Writes {
			writes[c] = outOf(t.state, c)
		}
		d.noteWrites(t, writes, time.Now())
		d.states.texts[ref] = t.state.Ledger()
	default:
		return
	}
	d.stateChanged(ref)
}

// entry returns what the ledger is to have for a workload; empty to forget it. The caller holds mu.
func (d *Dispatcher) ledgerEntry(ref reloader.WorkloadRef) string {
	if t := d.index.byRef[ref]; t != nil {
		return t.state.Ledger()
	}
	return d.states.texts[ref]
}

// keepStates writes the ledger of a namespace. It waits while a crowd is rolled: each write has all entries of the namespace.
func (d *Dispatcher) keepStates(ctx context.Context, namespace string) time.Duration {
	if d.crowded() {
		return ledgerDelay
	}
	d.mu.Lock()
	changed := d.states.changed[namespace]
	delete(d.states.changed, namespace)
	entries := make(map[reloader.WorkloadRef]string, len(changed))
	for ref := range changed {
		entries[ref] = d.ledgerEntry(ref)
	}
	if len(entries) == 0 {
		d.mu.Unlock()
		return 0
	}
	d.states.writing[namespace] = true
	d.mu.Unlock()
	err := d.Ledger.Put(ctx, namespace, entries)
	d.mu.Lock()
	delete(d.states.writing, namespace)
	if err == nil {
		d.mu.Unlock()
		return 0
	}
	for ref := range entries {
		put(d.states.changed, namespace, ref, struct{}{})
	}
	d.mu.Unlock()
	d.Logger.Warn("the ledger of a namespace is not written yet", "namespace", namespace, "error", err)
	_ = d.readLedger(ctx, namespace)
	return again
}

// readLedger takes what another process has written into the ledger of a namespace since it was read last. What this process knows holds unless the ledger
// has more rolls.
func (d *Dispatcher) readLedger(ctx context.Context, namespace string) error {
	entries, changed, err := d.Ledger.Changed(ctx, namespace)
	if err != nil || !changed {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for ref, text := range entries {
		t := d.index.byRef[ref]
		if t == nil {
			d.states.texts[ref] = text
			continue
		}
		state, err := applied.ParseLedger(text, t.state.Workload)
		if err != nil {
			d.stateChanged(ref)
			continue
		}
		merged := applied.Newest(state, t.state)
		merged.Noted, merged.Listed = later(state.Noted, t.state.Noted), later(state.Listed, t.state.Listed)
		if d.joinState(t, merged); merged.Ledger() != text {
			d.stateChanged(ref)
		}
	}
	return nil
}

// forgetUnseen ends what earlier processes left of workloads that went away while none ran. Those of a kind that cannot be seen now are kept until it can.
func (d *Dispatcher) forgetUnseen() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ref := range d.records.earlier {
		if d.Workloads.Tracked(ref.Kind) {
			delete(d.records.earlier, ref)
			d.recordQ.Add(ref)
		}
	}
}
