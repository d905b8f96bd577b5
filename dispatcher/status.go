package dispatcher

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/metrics"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
)

// maxSelectorText bounds the selector of a pause as the status shows it.
const maxSelectorText = 512

// lagReasons hold a workload back for no longer than Reroll and the API server take: it lags, and nobody wants it to wait. Failing is
// Retrying that has lasted.
var lagReasons = []reloader.Reason{
	reloader.ReasonRetrying, reloader.ReasonFailing, reloader.ReasonRateLimited, reloader.ReasonConcurrencyLimited,
	reloader.ReasonWaitingForNamespace,
}

// Status returns what the dispatcher knows of its cluster now. Who runs it adds the rest: version, faults, sources and feeds.
func (d *Dispatcher) Status() reloader.ClusterStatus {
	now := time.Now()
	s := reloader.ClusterStatus{
		Cluster: d.Cluster, At: now, Ready: d.ready.Load(), DryRun: d.DryRun, Notifies: d.Webhook != nil,
		Drift: d.metrics.Drift(), SweptAt: d.metrics.SweptAt(),
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Workloads, s.Pending = len(d.index.byRef), 0
	for _, t := range d.index.byRef {
		if t.behind() {
			s.Pending++
		}
		if t.hold != nil {
			if s.Held == nil {
				s.Held = map[reloader.Reason]int{}
			}
			s.Held[t.hold.Reason]++
		}
		if t.hold == nil || slices.Contains(lagReasons, t.hold.Reason) {
			s.OldestPendingAt = earlierOf(s.OldestPendingAt, t.behindSince())
		}
	}
	f, frozen := d.control.Freeze(now)
	s.Freeze = reloader.Freeze{Frozen: frozen, Reason: f.Reason, Until: f.Until, By: f.By, Since: f.Since}
	s.Pauses, s.Windows, s.ControlProblem = d.pauses(now), d.windows(now), d.control.Problem
	return s
}

// pauses returns those that have not ended. The caller holds mu.
func (d *Dispatcher) pauses(now time.Time) (pauses []reloader.Pause) {
	for _, p := range d.control.Pauses {
		if !p.Until.After(now) {
			continue
		}
		selector := p.Selector
		if len(selector) > maxSelectorText {
			selector = selector[:maxSelectorText] + "…"
		}
		pauses = append(pauses, reloader.Pause{Namespace: p.Namespace, Selector: selector, Until: p.Until, Reason: p.Reason, By: p.By})
	}
	return pauses
}

// windows returns those of the cluster. The caller holds mu.
func (d *Dispatcher) windows(now time.Time) (windows []reloader.Window) {
	all := d.Limits.Windows
	if len(d.control.Windows) > 0 {
		all = d.control.Windows
	}
	for _, w := range all {
		windows = append(windows, reloader.Window{Schedule: w.String(), Open: w.Open(now), Next: w.Next(now)})
	}
	return windows
}

// snapshot returns what the workloads wait for.
func (d *Dispatcher) snapshot(now time.Time) metrics.Snapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := metrics.Snapshot{Tracked: len(d.index.byRef), Held: map[reloader.Reason]int{}, Oldest: map[reloader.Reason]time.Duration{}}
	for _, t := range d.index.byRef {
		reason := reloader.Reason("")
		if t.hold != nil {
			reason = t.hold.Reason
			s.Held[reason]++
		}
		if t.behind() {
			s.Pending++
		}
		if since := t.behindSince(); !since.IsZero() {
			s.Oldest[reason] = max(s.Oldest[reason], now.Sub(since))
		}
	}
	return s
}

// attempts has the metric of each fate.
var attempts = map[fate]metrics.Attempt{
	fateDone: metrics.Done, fateGone: metrics.Gone, fateStale: metrics.Outdated, fateNever: metrics.Refused, fateAgain: metrics.Failed,
}

// behindSince returns since when t waits for the oldest of its changes; zero if it waits for none. The caller holds Dispatcher.mu.
func (t *tracked) behindSince() time.Time {
	var at turn.Turn
	at.Waits = map[reloader.Config]turn.Wait{}
	for c, e := range t.edges {
		if e.behind {
			at.Waits[c] = e.wait
		}
	}
	return at.Since()
}

// earlierOf returns the earlier of two times, of which either may be none.
func earlierOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
