package hub

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	records, gaps, interruptions *prometheus.CounterVec
	behind, up                   *prometheus.GaugeVec
}

// newMetrics makes the metrics and registers them, if there is a registerer. A registerer takes those of one Member.
func newMetrics(r prometheus.Registerer) *metrics {
	counter := func(name, help string) *prometheus.CounterVec {
		return promauto.With(r).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"stream"})
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return promauto.With(r).NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"stream"})
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
	return m
}
