package dispatcher

import (
	"slices"
	"time"
)

// past is a roll of before this process began, in a namespace.
type past struct {
	namespace string
	at        time.Time
}

// replay has the rate limits know of the rolls of the last minute, by whichever process: one that starts again and again must not begin
// with a burst each time. It comes when every workload is tracked.
func (d *Dispatcher) replay(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var lately []past
	add := func(namespace string, at time.Time) {
		if at.After(now.Add(-time.Minute)) && !at.After(now) {
			lately = append(lately, past{namespace, at})
		}
	}
	for ref, r := range d.records {
		add(ref.Namespace, r.Pace.At) // it went away meanwhile
	}
	for ref, t := range d.index.byRef {
		add(ref.Namespace, t.pace.At)
		add(ref.Namespace, d.rolledUnsaid(t))
	}
	slices.SortFunc(lately, func(a, b past) int { return a.at.Compare(b.at) })
	for _, p := range lately {
		d.limiterOf(p.namespace).ReserveN(p.at, 1)
		d.limiters.all.ReserveN(p.at, 1)
	}
}

// rolledUnsaid returns when a process rolled t's workload that ended before it could record that; zero if none did. The caller holds mu.
func (d *Dispatcher) rolledUnsaid(t *tracked) time.Time {
	target := d.strategyOf(t.w).Target(t.w)
	if !target.Signed || !target.MarkedAt.After(t.markedAt) && !t.unclaimed(target) {
		return time.Time{}
	}
	return target.MarkedAt
}
