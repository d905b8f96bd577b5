package hub

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	records, gaps, interruptions *prometheus.CounterVec
	behind, up                   *prometheus.GaugeVec
}

// newMetrics makes the metrics and registers them, if there is a registerer.
func newMetrics(r prometheus.Registerer) (*metrics, error) {
	stream := []string{"stream"}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, stream)
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, stream)
	}
	m := &metrics{
		records:       counter("reroll_forward_records_total", "Records that were stored at the hub."),
		gaps:          counter("reroll_forward_gaps_total", "Places where records are missing at the hub."),
		interruptions: counter("reroll_forward_interruptions_total", "Interruptions after which forwarding began again."),
		behind:        gauge("reroll_forward_behind", "Records that are stored here and not yet at the hub."),
		up:            gauge("reroll_forward_up", "Whether the hub takes the records of this cluster."),
	}
	for _, s := range sources {
		for _, c := range []*prometheus.CounterVec{m.records, m.gaps, m.interruptions} {
			c.WithLabelValues(s.stream)
		}
		m.behind.WithLabelValues(s.stream)
		m.up.WithLabelValues(s.stream)
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

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.records, m.gaps, m.interruptions, m.behind, m.up}
}

// unregister removes the metrics, so that another Member can have them.
func (m *metrics) unregister(r prometheus.Registerer) {
	if r == nil {
		return
	}
	for _, c := range m.all() {
		r.Unregister(c)
	}
}
