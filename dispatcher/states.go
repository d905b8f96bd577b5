package dispatcher

import (
	"errors"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// states are the States of workloads that are not tracked, and what the ledger lacks.
type states struct {
	*common
	index *index
	// born is when the ledger was born.
	born time.Time
	// texts are the entries of workloads that are not tracked: they were not seen yet, or opted out.
	texts map[reloader.WorkloadRef]string
	// changed has, by namespace, the workloads whose entry must be written.
	changed map[string]map[reloader.WorkloadRef]struct{}
	// writing has the namespaces whose ledger is being written.
	writing map[string]bool
}

// ledgerDelay is how long notes are gathered before the ledger of their namespace is written.
const ledgerDelay = 200 * time.Millisecond

func (l *states) change(ref reloader.WorkloadRef) {
	put(l.changed, ref.Namespace, ref, struct{}{})
	l.ledgerQ.AddAfter(ref.Namespace, ledgerDelay)
}

func (l *states) kept(ref reloader.WorkloadRef) bool {
	_, waits := l.changed[ref.Namespace][ref]
	return !waits && !l.writing[ref.Namespace]
}

// adopt gives t, which is new to this process, the State that the ledger has for it. A workload without entry begins now: what it was asked for
// before it was seen is over.
func (l *states) adopt(t *tracked, p *dialect.Plan) {
	ref := t.w.Ref()
	uid := string(targetOf(t.w, p).UID)
	state, _ := l.parse(ref, l.texts[ref], uid)
	delete(l.texts, ref)
	if !state.Known() {
		state.Workload = uid
		state.Requested, state.Retried = reloader.ValueID(t.w.Annotations[RequestedAnnotation]), reloader.ValueID(t.w.Annotations[RetryAnnotation])
	}
	t.state = state
}

// parse returns the State that a text of the ledger has. A damaged text is lost; for people it stays in the ledger, under another kind.
func (l *states) parse(ref reloader.WorkloadRef, text, uid string) (applied.State, error) {
	state, err := applied.Parse(text, uid, nil)
	if err == nil {
		return state, nil
	}
	l.Logger.Warn("the ledger's entry of a workload counts for nothing", "workload", ref.String(), "error", err)
	if errors.Is(err, applied.ErrDamaged) {
		ref.Kind = reloader.DamagedPrefix + ref.Kind
		l.texts[ref] = text
		l.change(ref)
	}
	return applied.State{}, err
}

// readState joins what the annotation of t's target says with what is known. A higher number of rolls there means that another process, or the admission
// webhook, has rolled it.
func (b *board) readState(t *tracked) {
	target := t.target()
	text, uid := target.Annotations[applied.Key], string(target.UID)
	if text == t.text {
		return
	}
	if target.Kind == workload.Job.Kind {
		uid = applied.NoUID // it was written before the Job existed
	}
	object, err := applied.Parse(text, uid, t.plan.Names)
	if t.text, t.damaged = text, ""; err != nil {
		t.damaged = applied.Key + ": " + err.Error() + "; it counts for nothing"
		b.Announcer.Complain(t.w, t.damaged)
		b.recordQ.Add(t.w.Ref())
	}
	if object.Known() {
		object.Workload = string(target.UID)
	}
	b.joinState(t, applied.Newest(object, t.state), t.state.Ledger())
}

// joinState makes newest the State of t, and has everything decided again that is another since. ledger is what the ledger has of it, or will have.
func (b *board) joinState(t *tracked, newest applied.State, ledger string) {
	before := t.state
	t.state = newest
	if newest.Ledger() != ledger {
		b.states.change(t.w.Ref())
	}
	changed := newest.N != before.N
	for c, w := range newest.Writes.All() {
		if old, known := before.Writes.Find(c); known && old == w {
			continue
		}
		changed = true
		if e := t.edges.Get(c); e != nil {
			e.reopen()
		}
	}
	if !changed {
		return
	}
	if newest.N > before.N && (t.intends == "" || t.text != t.intends) {
		t.since = time.Now()
		b.rolledElsewhere(t, before)
	}
	b.workloadQ.Add(t.w.Ref())
}

func (l *states) note(t *tracked, writes map[reloader.Config]*applied.Write, at time.Time) {
	if len(writes) > 0 {
		t.state = t.state.Note(writes, at)
		l.change(t.w.Ref())
	}
}

// release ends the State of a workload that is not tracked any more: that of one that is gone is forgotten, and of one that opted out every entry is
// marked as out. t is nil if the workload was not tracked.
func (l *states) release(ref reloader.WorkloadRef, t *tracked, gone bool) {
	_, stored := l.texts[ref]
	switch {
	case gone && (stored || t != nil):
		delete(l.texts, ref)
	case !gone && t != nil:
		writes := make(map[reloader.Config]*applied.Write, len(t.state.Writes))
		for c, w := range t.state.Writes.All() {
			w.Out = true
			writes[c] = &w
		}
		l.note(t, writes, time.Now())
		l.texts[ref] = t.state.Ledger()
	default:
		return
	}
	l.change(ref)
}

// take returns what the ledger of a namespace lacks, which must be written now: an empty text forgets a workload.
func (l *states) take(namespace string) map[reloader.WorkloadRef]string {
	entries := make(map[reloader.WorkloadRef]string, len(l.changed[namespace]))
	for ref := range l.changed[namespace] {
		entries[ref] = l.texts[ref]
		if t := l.index.byRef[ref]; t != nil {
			entries[ref] = t.state.Ledger()
		}
	}
	delete(l.changed, namespace)
	if len(entries) > 0 {
		l.writing[namespace] = true
	}
	return entries
}

// merge takes the ledger of another process. The knowledge of this process holds unless the ledger has more rolls.
func (b *board) merge(entries map[reloader.WorkloadRef]string) {
	for ref, text := range entries {
		t := b.index.byRef[ref]
		if t == nil {
			b.states.texts[ref] = text
			continue
		}
		state, err := b.states.parse(ref, text, t.state.Workload)
		if err != nil {
			b.states.change(ref)
			continue
		}
		merged := applied.Newest(state, t.state)
		merged.Noted, merged.Listed = reloader.Later(state.Noted, t.state.Noted), reloader.Later(state.Listed, t.state.Listed)
		b.joinState(t, merged, text)
	}
}
