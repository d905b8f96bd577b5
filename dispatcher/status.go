package dispatcher

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

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
		Drift: int64(value(d.metrics.drift)),
	}
	if swept := value(d.metrics.swept); swept > 0 {
		s.SweptAt = time.UnixMilli(int64(swept * 1000)).UTC()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Workloads, s.Pending = len(d.index.byRef), d.countPending()
	for _, t := range d.index.byRef {
		if t.hold != nil {
			if s.Held == nil {
				s.Held = map[reloader.Reason]int{}
			}
			s.Held[t.hold.Reason]++
		}
		if t.hold == nil || slices.Contains(lagReasons, t.hold.Reason) {
			s.OldestPendingAt = earlierOf(s.OldestPendingAt, t.oldestPending())
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
	for _, w := range d.clusterWindows() {
		windows = append(windows, reloader.Window{Schedule: w.String(), Open: w.Open(now), Next: w.Next(now)})
	}
	return windows
}

// value returns what a metric without labels says.
func value(m prometheus.Metric) float64 {
	var out dto.Metric
	if m.Write(&out) != nil {
		return 0
	}
	return out.GetCounter().GetValue() + out.GetGauge().GetValue()
}

// Status returns what is known of the audit events of every API server, by address.
func (c *Canary) Status() []reloader.FeedStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	var feeds []reloader.FeedStatus
	for _, address := range slices.Sorted(maps.Keys(c.feed.perches)) {
		p := c.feed.perches[address]
		feeds = append(feeds, reloader.FeedStatus{Address: address, State: string(p.state), LastAt: p.returned})
	}
	return feeds
}
