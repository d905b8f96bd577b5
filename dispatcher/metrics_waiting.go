package dispatcher

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/reloader"
)

// notHeld is the label value of reroll_oldest_pending_age_seconds for workloads that nothing holds back: they wait for their quiet window, or
// for their turn.
const notHeld = "none"

// waiting measures for how long changes have waited for their workloads to be rolled, by what holds the workload back.
type waiting struct {
	d    *Dispatcher
	desc *prometheus.Desc
}

func newWaiting(d *Dispatcher) waiting {
	return waiting{d: d, desc: prometheus.NewDesc("reroll_oldest_pending_age_seconds",
		"Age of the change that has waited longest for its workload to be rolled, by what holds the workload back; 0 if none waits.",
		[]string{"reason"}, nil)}
}

// Describe implements prometheus.Collector.
func (w waiting) Describe(descs chan<- *prometheus.Desc) { descs <- w.desc }

// Collect implements prometheus.Collector. It looks at each workload once for all reasons.
func (w waiting) Collect(metrics chan<- prometheus.Metric) {
	ages := w.d.agesOfPending(time.Now())
	for _, reason := range append([]reloader.Reason{notHeld}, reloader.HoldReasons...) {
		metrics <- prometheus.MustNewConstMetric(w.desc, prometheus.GaugeValue, ages[reason].Seconds(), string(reason))
	}
}

// agesOfPending returns, by what holds a workload back, how long before now the oldest change was verified that waits for that.
func (d *Dispatcher) agesOfPending(now time.Time) map[reloader.Reason]time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	ages := map[reloader.Reason]time.Duration{}
	for _, t := range d.index.byRef {
		oldest := t.oldestPending()
		if oldest.IsZero() {
			continue
		}
		reason := reloader.Reason(notHeld)
		if t.hold != nil {
			reason = t.hold.Reason
		}
		ages[reason] = max(ages[reason], now.Sub(oldest))
	}
	return ages
}

// oldestPending returns since when t waits for the oldest of its changes: when it was verified, or became known here if that is by the clock of
// another cluster; zero if it waits for none. The caller holds Dispatcher.mu.
func (t *tracked) oldestPending() (oldest time.Time) {
	for c, p := range t.pending {
		at := p.changes[0].VerifiedAt
		if c.Cluster != "" {
			at = p.since
		}
		oldest = earlierOf(oldest, at)
	}
	return oldest
}

// earlierOf returns the earlier of two times, of which either may be none.
func earlierOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
