package dispatcher

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// maxCauses bounds the changes of one config that a waiting workload remembers: the first ones and the newest.
const maxCauses = 16

// addPending makes t wait for change: until its quiet window has passed without another one, but no longer than the maximum wait
// after the oldest. Both are counted from the stored time of the change, so that a restart does not start them anew, or, if that is by the clock
// of another cluster, from when the change became known here; and from now at the latest: the clock of who stored it may have been ahead.
// The caller holds mu.
func (d *Dispatcher) addPending(t *tracked, change reloader.Change, force bool) {
	if sum, dried := t.dried[change.Config]; dried && sum == change.New.Sum && change.Type != reloader.ChangeDeleted {
		return
	}
	p := t.pending[change.Config]
	if p == nil {
		p = &cause{}
		t.pending[change.Config] = p
	}
	if t.hold == nil && t.was.DeadLetter() {
		t.hold = t.was // what an earlier process gave up is given up until it is tried again
		d.settleQ.Add(t.w.Ref())
	}
	p.force = p.force || force
	p.add(change)
	at := change.VerifiedAt
	if change.Config.Cluster != "" {
		at = p.heard
	}
	at = earlier(at, time.Now())
	if t.first.IsZero() || at.Before(t.first) {
		t.first = at
	}
	if !t.waited.IsZero() {
		t.first = earlier(t.first, t.waited) // of the changes before this process began only the newest is known
	}
	window, maxWait := d.waits(t)
	t.due = earlier(at.Add(window), t.first.Add(maxWait))
	d.flushQ.AddAfter(t.w.Ref(), max(0, time.Until(t.due)))
	if window > 0 {
		d.settleQ.Add(t.w.Ref())
	}
}

// waits returns the quiet window of t and its maximum wait, which is no shorter.
func (d *Dispatcher) waits(t *tracked) (window, maxWait time.Duration) {
	if own := d.planOf(t.w).Chosen.Debounce; own != nil {
		return *own, max(*own, d.MaxWait)
	}
	return d.Window, d.MaxWait
}

func (p *cause) add(change reloader.Change) {
	n := len(p.changes)
	if n > 0 && p.changes[n-1].ID == change.ID {
		p.changes[n-1] = change
		return
	}
	p.heard = time.Now()
	if n == 0 {
		p.since = p.heard
	}
	switch {
	case n >= maxCauses:
		p.changes[n-1] = change
	default:
		p.changes = append(p.changes, change)
	}
}

// pendingSince returns since when this process has known of the oldest change that is pending.
func (t *tracked) pendingSince() (since time.Time) {
	for _, p := range t.pending {
		if since.IsZero() || p.since.Before(since) {
			since = p.since
		}
	}
	return since
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// undecided is what is known of a pending config of a workload before it is looked at.
type undecided struct {
	config  reloader.Config
	changes []reloader.Change
	force   bool
	handled reloader.Handled
	says    evidence
	// shared says that another config of the workload has its mark at the same place.
	shared bool
}

// undecided returns t's workload and what is to be decided about it. reuse says that what is remembered
// of configs may be used: somebody else who rolled the workload may know newer content, which must not be overwritten.
func (d *Dispatcher) undecided(t *tracked) (w *workload.Workload, waiting []undecided, reuse bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w = t.w
	reuse = w.Roll() == workload.NewJob || d.reloadOn(w) == t.lastReload
	shared := d.sharedPlaces(t)
	for c, p := range t.pending {
		u := undecided{c, slices.Clone(p.changes), p.force, t.handled[c], d.evidence(t, w, c), shared[c]}
		reuse = reuse && (u.says.brought == "" || u.says.brought == u.handled.Brought)
		waiting = append(waiting, u)
	}
	return w, waiting, reuse
}

// sharedPlaces returns the configs of t whose mark has the place of another's. The caller holds mu.
func (d *Dispatcher) sharedPlaces(t *tracked) map[reloader.Config]bool {
	found := map[reloader.Config]bool{}
	for c := range t.pending {
		by := d.strategyBy(t.w, d.speaker(t.w, c, d.facts[c]))
		for o := range t.edges {
			found[c] = found[c] || samePlace(by, t.w, c, o)
		}
	}
	return found
}
