package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/reloader"
)

// notHeld is the label value of reroll_oldest_pending_age_seconds for workloads that nothing holds back: they wait for their debounce window, or
// for a worker.
const notHeld = "none"

// Snapshot is the state of the workloads at one time.
type Snapshot struct {
	// Tracked counts the workloads that opted in, and Pending those of them that wait to be rolled.
	Tracked, Pending int
	// Held counts the workloads that something holds back, by reason: a hold or a dead letter.
	Held map[reloader.Reason]int
	// Oldest has, by the reason that holds a workload back, the age of the change that has waited longest; "" is for those that nothing
	// holds back.
	Oldest map[reloader.Reason]time.Duration
}

// workloads collects a Snapshot at each scrape.
type workloads struct {
	snapshot                               func(now time.Time) Snapshot
	tracked, pending, held, dead, waitedBy *prometheus.Desc
}

func newWorkloads(snapshot func(now time.Time) Snapshot) workloads {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return workloads{
		snapshot: snapshot,
		tracked:  desc("reroll_tracked_workloads", "Workloads that opted in."),
		pending:  desc("reroll_pending_workloads", "Workloads that wait to be rolled."),
		held:     desc("reroll_held_workloads", "Workloads that wait longer than for their quiet window, by what holds them back.", "reason"),
		dead:     desc("reroll_dead_letters", "Workloads that could not be patched and will not be without help, by reason.", "reason"),
		waitedBy: desc("reroll_oldest_pending_age_seconds",
			"Age of the oldest pending change, for each reason of a hold; 0 if no workload is held for that reason.", "reason"),
	}
}

// Describe implements prometheus.Collector.
func (w workloads) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{w.tracked, w.pending, w.held, w.dead, w.waitedBy} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (w workloads) Collect(metrics chan<- prometheus.Metric) {
	s := w.snapshot(time.Now())
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	gauge(w.tracked, float64(s.Tracked))
	gauge(w.pending, float64(s.Pending))
	gauge(w.waitedBy, s.Oldest[""].Seconds(), notHeld)
	for _, reason := range reloader.HoldReasons {
		gauge(w.held, float64(s.Held[reason]), string(reason))
		gauge(w.waitedBy, s.Oldest[reason].Seconds(), string(reason))
	}
	for _, reason := range reloader.DeadLetterReasons {
		gauge(w.dead, float64(s.Held[reason]), string(reason))
	}
}
