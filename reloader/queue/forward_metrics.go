package queue

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/reloader"
)

type forwardMetrics struct {
	records, gaps, errors *prometheus.CounterVec
	behind                *prometheus.GaugeVec
	up                    prometheus.Gauge
}

// newForwardMetrics makes the metrics of a Forwarder and registers them with r, if there is one.
func newForwardMetrics(r prometheus.Registerer) (*forwardMetrics, error) {
	kind := []string{"records"}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, kind)
	}
	m := &forwardMetrics{
		records: counter("reroll_forward_records_total", "Records that were stored at the hub."),
		gaps:    counter("reroll_forward_gaps_total", "Places where records are missing at the hub."),
		errors:  counter("reroll_forward_interruptions_total", "How often forwarding was interrupted and began again."),
		behind:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "reroll_forward_behind", Help: "Records that are stored here and not yet at the hub."}, kind),
		up:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "reroll_forward_up", Help: "Whether the hub was reached and takes the records of this cluster."}),
	}
	for _, k := range []reloader.RecordKind{reloader.ChangeRecords, reloader.ReloadRecords, reloader.WorkloadRecords} {
		for _, c := range []*prometheus.CounterVec{m.records, m.gaps, m.errors} {
			c.WithLabelValues(string(k))
		}
		m.behind.WithLabelValues(string(k))
	}
	if r == nil {
		return m, nil
	}
	for _, c := range m.all() {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("forward metrics: %w", err)
		}
	}
	return m, nil
}

func (m *forwardMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.records, m.gaps, m.errors, m.behind, m.up}
}

// unregister takes the metrics back, so that another Forwarder can have them.
func (m *forwardMetrics) unregister(r prometheus.Registerer) {
	if r == nil {
		return
	}
	for _, c := range m.all() {
		r.Unregister(c)
	}
}
