package dispatcher

import (
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
)

// relate compares f, the newest look at c, with the state of t. A change that may roll t waits for its window; one that needs a note or evidence is decided
// at once. before is the look before f.
func (b *board) relate(t *tracked, c reloader.Config, before, f fact) {
	e := t.edges.Get(c)
	if e == nil || e.open && before.sameAs(f) {
		return // nothing new to decide about
	}
	ref := t.w.Ref()
	if was, is := !before.absent && t.shows(c, before), !f.absent && t.shows(c, f); was != is || before.began.IsZero() {
		b.recordNews(t) // the record has what is missing
	}
	w, known := t.state.Writes.Find(c)
	counting := t.counting(c, f)
	relation := applied.Same
	if known && !w.Out {
		relation = applied.Relate(w, t.live(c, f))
	}
	switch {
	case !known || w.Out:
		e.reopen()
	case relation == applied.Same:
		if !e.open {
			return
		}
	case relation == applied.Ahead, relation == applied.Gone && counting.Deletion, relation == applied.Appeared && counting.Creation:
		e.reopen()
		b.fallBehind(t, c, f)
	case relation == applied.Gone, relation == applied.Appeared: // the awaited content is gone
		e.reopen()
		e.behind, e.wait, e.changes = false, turn.Wait{}, nil
	default:
		e.reopen()
		if e.behind {
			b.fallBehind(t, c, f)
		}
	}
	b.workloadQ.Add(ref)
}

// fallBehind has t wait for its debounce window because of f.
func (b *board) fallBehind(t *tracked, c reloader.Config, f fact) {
	e, now := t.edges.Get(c), time.Now()
	change := b.configs.of(c).last(b.Cluster, c)
	if n := len(e.changes); e.behind && n > 0 && e.changes[n-1].ID == change.ID {
		return
	}
	at := f.seen
	if change.ResourceVersion == f.ResourceVersion || f.absent && change.Type == reloader.ChangeDeleted {
		at = reloader.Earlier(at, change.VerifiedAt) // an earlier process knew of it
	}
	if c.Cluster != "" {
		at = now
	}
	e.behind, e.wait = true, e.wait.Heard(at, now)
	e.addCause(change)
	if t.hold == nil {
		b.recordQ.AddAfter(t.w.Ref(), recordDelay)
	}
}
