package dispatcher

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/metrics"
	"github.com/reroll-dev/reroll/reloader"
)

// Status returns what the dispatcher knows of its cluster now. The caller adds the rest: version, faults, sources and feeds.
func (d *Dispatcher) Status() reloader.ClusterStatus {
	now := time.Now()
	s := reloader.ClusterStatus{
		Cluster: d.Cluster,
		At:      now,
		Ready:   d.ready.Load() != nil, DryRun: d.DryRun, Notifies: d.Webhook != nil,
		Hearing: reloader.Hearing{Drift: d.metrics.Drift(), SweptAt: d.metrics.SweptAt()},
	}
	b := d.lock()
	defer d.unlock()
	waiting := b.snapshot(now)
	s.Workloads, s.Pending, s.Held = waiting.Tracked, waiting.Pending, waiting.Held
	for reason, since := range waiting.Oldest {
		if at := now.Add(-since); (reason == "" || slices.Contains(reloader.LagReasons, reason)) && (s.OldestPendingAt.IsZero() || at.Before(s.OldestPendingAt)) {
			s.OldestPendingAt = at
		}
	}
	if f, frozen := b.gate.control.Freeze(now); frozen {
		s.Freeze = &f
	}
	s.Pauses = slices.DeleteFunc(slices.Clone(b.gate.control.Pauses), func(p reloader.Pause) bool { return !p.On(now) })
	s.Windows, s.ControlProblem = b.gate.windows(now), b.gate.control.Problem
	return s
}

func (g *gate) windows(now time.Time) (windows []reloader.Window) {
	all := g.Limits.Windows
	if len(g.control.Windows) > 0 {
		all = g.control.Windows
	}
	for _, w := range all {
		windows = append(windows, reloader.Window{Schedule: w.String(), Open: w.Open(now), Next: w.Next(now)})
	}
	return windows
}

func (b *board) snapshot(now time.Time) metrics.Snapshot {
	s := metrics.Snapshot{Tracked: len(b.index.byRef), Held: map[reloader.Reason]int{}, Oldest: map[reloader.Reason]time.Duration{}}
	for _, t := range b.index.byRef {
		reason := reloader.Reason("")
		if t.hold != nil {
			reason = t.hold.Reason
			s.Held[reason]++
		}
		if since := t.behindSince(); !since.IsZero() {
			s.Pending++
			s.Oldest[reason] = max(s.Oldest[reason], now.Sub(since))
		}
	}
	return s
}
