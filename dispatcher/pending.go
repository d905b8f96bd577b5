package dispatcher

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// maxCauses bounds the changes of one config that a waiting workload remembers: the first ones and the newest.
const maxCauses = 16

// addPending makes t wait for change: until its quiet window has passed without another one, but no longer than the maximum wait
// after the oldest. Both are counted from the stored time of the change, so that a restart does not start them anew.
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
	p.force = p.force || force
	p.add(change)
	if t.first.IsZero() || change.VerifiedAt.Before(t.first) {
		t.first = change.VerifiedAt
	}
	window, maxWait := d.waits(t)
	t.due = earlier(change.VerifiedAt.Add(window), t.first.Add(maxWait))
	d.flushQ.AddAfter(t.w.Ref(), max(0, time.Until(t.due)))
	if window > 0 {
		d.settleQ.Add(t.w.Ref())
	}
}

// waits returns the quiet window of t and its maximum wait, which is no shorter.
func (d *Dispatcher) waits(t *tracked) (window, maxWait time.Duration) {
	if own, ok := d.Dialects.Window(t.w); ok {
		return own, max(own, d.MaxWait)
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
	switch {
	case n >= maxCauses:
		p.changes[n-1] = change
	default:
		p.changes = append(p.changes, change)
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
