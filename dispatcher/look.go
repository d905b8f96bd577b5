package dispatcher

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/live"
)

// looker looks at configs, at each one at a time.
type looker struct {
	*common
	*memory
	// flight has the configs that are being looked at, each with a channel that is closed when that ends.
	flight sync.Map
	// starting has what is listed once while the process starts; nil otherwise.
	starting atomic.Pointer[lists]
}

// look looks at c, and makes known what it found. hints are the reasons to look.
func (d *looker) look(ctx context.Context, c reloader.Config, hints []reloader.Hint) (fact, error) {
	defer d.alone(c)()
	return d.lookLocked(ctx, c, hints, false)
}

// current returns a look at c that began after a time, is at most a debounce window old, and has read the content. whole asks for its marks as
// well.
func (d *looker) current(ctx context.Context, c reloader.Config, after time.Time, whole bool) (fact, error) {
	if f, ok := d.recent(c, after, whole); ok {
		return f, nil
	}
	defer d.alone(c)()
	if f, ok := d.recent(c, after, whole); ok {
		return f, nil
	}
	return d.lookLocked(ctx, c, nil, whole)
}

// reuseTime is how much older than the debounce window a look may be on which a decision is based.
const reuseTime = time.Second

func (d *looker) recent(c reloader.Config, after time.Time, whole bool) (fact, bool) {
	b := d.lock()
	defer d.unlock()
	e := b.configs[c]
	if !e.looked() || !e.now.began.After(after) || whole && e.now.content() && e.now.marks == nil {
		return fact{}, false
	}
	return e.now, d.ready.Load() == nil || time.Since(e.now.began) <= d.Debounce.Window+reuseTime
}

// lookLocked is look for a caller that has c in flight. whole asks for the content, with its marks, in any case.
func (d *looker) lookLocked(ctx context.Context, c reloader.Config, hints []reloader.Hint, whole bool) (fact, error) {
	var f fact
	var told *reloader.Change
	var err error
	if c.Cluster != "" {
		f, told, err = d.lookAbroad(c)
	} else {
		f, err = d.read(ctx, c, hints, whole)
	}
	b := d.lock()
	defer d.unlock()
	b.noteRead(c, err)
	if err != nil {
		return fact{}, err
	}
	return b.learn(c, f, told, hints), nil
}

// lookAbroad returns what the newest copy of c says, in the place of a look.
func (d *looker) lookAbroad(c reloader.Config) (fact, *reloader.Change, error) {
	began := time.Now()
	change, err := d.fleet.Newest(c)
	if err != nil {
		return fact{}, nil, err
	}
	f := fact{
		Meta:   live.Meta{UID: change.UID, ResourceVersion: change.ResourceVersion},
		digest: change.New, marks: &dialect.Values{}, began: began, seen: time.Now(), absent: !change.Present(),
	}
	return f, &change, nil
}

// learn makes f the newest look at c: it may be a change for the history, and something to decide for the workloads that depend on c.
func (b *board) learn(c reloader.Config, f fact, told *reloader.Change, hints []reloader.Hint) fact {
	e := b.configs.of(c)
	before := e.now
	f = e.see(f, hints)
	b.history.take(c, e, before, told, hints)
	if len(hints) == 0 && before.sameAs(f) {
		return f // the last look was compared with all
	}
	for _, t := range b.index.dependents(c) {
		b.relate(t, c, before, f)
	}
	return f
}

// noteRead takes note whether c could be read, and has the records of its dependents written again if that is news. An error that may pass says
// nothing.
func (b *board) noteRead(c reloader.Config, err error) {
	now := ""
	if err != nil && fateOf(err) != fateNever && !apierrors.IsInternalError(err) {
		return
	} else if err != nil {
		now = err.Error()
	}
	e := b.configs.of(c)
	if e.unreadable == now {
		return
	}
	e.unreadable = now
	for _, t := range b.index.byConfig[c] {
		ref := t.w.Ref()
		if c.Cluster != "" && now != "" {
			b.Announcer.Complain(t.w, now)
		}
		b.recordQ.Add(ref)
		b.workloadQ.Add(ref)
	}
}

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
	first, relation, counting := !known || w.Out, applied.Relate(w, t.live(c, f)), t.counting(c, f)
	if first || relation != applied.Same {
		e.reopen()
	} else if !e.open {
		return
	}
	switch {
	case first, relation == applied.Same:
	case relation == applied.Gone && !counting.Deletion, relation == applied.Appeared && !counting.Creation: // the awaited content is gone
		e.behind, e.wait, e.changes = false, turn.Wait{}, nil
	case relation == applied.Ahead, relation == applied.Gone, relation == applied.Appeared, e.behind:
		b.fallBehind(t, c, f)
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

// alone waits until nobody else looks at c, and returns the call that lets the next one.
func (d *looker) alone(c reloader.Config) func() {
	done := make(chan struct{})
	for {
		other, taken := d.flight.LoadOrStore(c, done)
		if !taken {
			return func() {
				d.flight.Delete(c)
				close(done)
			}
		}
		<-other.(chan struct{})
	}
}
