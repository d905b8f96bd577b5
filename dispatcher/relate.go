package dispatcher

import (
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
)

// relate compares f, the newest look at c, with what t was brought to. What may roll t waits for its window; what is to be noted or found out is decided
// at once. before is the look before f. The caller holds mu.
func (d *Dispatcher) relate(t *tracked, c reloader.Config, before, f fact) {
	e := t.edges[c]
	if e == nil {
		return
	}
	if e.open && before.sameAs(f) {
		return // nothing new to decide about
	}
	ref := t.w.Ref()
	if was, is := !before.absent && d.shows(t, c, before), !f.absent && d.shows(t, c, f); was != is || before.began.IsZero() {
		d.recordQ.AddAfter(ref, recordDelay) // what is missing is on record
	}
	w, known := t.state.Writes[c]
	if !known || w.Out {
		e.reopen()
		d.workloadQ.Add(ref)
		return
	}
	live := d.liveOf(t, c, f)
	switch relation := applied.Relate(w, live, d.counting(t, c, f)); relation {
	case applied.Same:
		if e.open {
			d.workloadQ.Add(ref)
		}
	case applied.Ahead, applied.Gone, applied.Appeared:
		e.reopen()
		if relation == applied.Ahead || d.counts(t, c, f, relation) {
			d.fallBehind(t, c, f)
		} else {
			e.behind, e.wait, e.changes = false, turn.Wait{}, nil // what it waited for is not there any more
		}
		d.workloadQ.Add(ref)
	default:
		e.reopen()
		if e.behind {
			d.fallBehind(t, c, f)
		}
		d.workloadQ.Add(ref)
	}
}

// counts reports whether a creation or deletion counts for t. The caller holds mu.
func (d *Dispatcher) counts(t *tracked, c reloader.Config, f fact, relation applied.Relation) bool {
	counting := d.counting(t, c, f)
	return relation == applied.Gone && counting.Deletion || relation == applied.Appeared && counting.Creation
}

// fallBehind has t wait for its debounce window because of f. The caller holds mu.
func (d *Dispatcher) fallBehind(t *tracked, c reloader.Config, f fact) {
	e, now := t.edges[c], time.Now()
	change := d.entry(c).last.Change
	n := len(e.changes)
	if e.behind && n > 0 && e.changes[n-1].ID == change.ID {
		return
	}
	at := f.seen
	if change.ResourceVersion == f.ResourceVersion || f.absent && change.Type == reloader.ChangeDeleted {
		at = earlier(at, change.VerifiedAt) // an earlier process knew of it
	}
	if c.Cluster != "" {
		at = now
	}
	e.behind, e.wait = true, e.wait.Heard(at, now)
	e.addCause(change)
	if t.hold == nil {
		d.recordQ.AddAfter(t.w.Ref(), recordDelay)
	}
}

// maxCauses bounds the changes of one config that a waiting workload remembers: the first ones and the newest.
const maxCauses = 16

func (e *edge) addCause(change reloader.Change) {
	if change.ID == "" {
		return
	}
	n := len(e.changes)
	switch {
	case n > 0 && (e.changes[n-1].ID == change.ID || n >= maxCauses):
		e.changes[n-1] = change
	default:
		e.changes = append(e.changes, change)
	}
}

// counting returns what counts as a change of c for t. The caller holds mu.
func (d *Dispatcher) counting(t *tracked, c reloader.Config, f fact) applied.Counting {
	counting := plan.CountingOf(c, t.plan.Decide(d.metaOf(c, f)), d.ReloadOnCreate, d.ReloadOnDelete)
	if c.Namespace != t.w.Namespace && !f.absent && f.Created.Before(t.state.AsOf().Truncate(time.Second)) {
		counting.Creation = false // it was there, and is shown now
	}
	return counting
}
