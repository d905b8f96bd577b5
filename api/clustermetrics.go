package api

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

var (
	clusterUp = prometheus.NewDesc("reroll_cluster_up",
		"Whether the dispatcher of a cluster has published its status lately.", []string{"cluster"}, nil)
	clusterHealthy = prometheus.NewDesc("reroll_cluster_healthy",
		"Whether a cluster is up and nothing is wrong with it.", []string{"cluster"}, nil)
	clusterInfo = prometheus.NewDesc("reroll_cluster_info",
		"Always 1: which version dispatches for a cluster.", []string{"cluster", "version"}, nil)
)

// clusterMetrics has every cluster on record, as of the time of a scrape. Clusters are few, and those who run the fleet name them.
type clusterMetrics struct{ records *projection.Projection }

// Describe sends what can be collected.
func (m clusterMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{clusterUp, clusterHealthy, clusterInfo} {
		to <- d
	}
}

// Collect sends what is known of each cluster now.
func (m clusterMetrics) Collect(to chan<- prometheus.Metric) {
	now := time.Now()
	for _, state := range m.records.Clusters() {
		health := view.FromCluster(state, now).Health
		to <- prometheus.MustNewConstMetric(clusterUp, prometheus.GaugeValue, oneIf(health.IsUp()), state.Name)
		to <- prometheus.MustNewConstMetric(clusterHealthy, prometheus.GaugeValue, oneIf(health == verdict.Healthy), state.Name)
		if state.Status != nil && state.Status.Version != "" {
			to <- prometheus.MustNewConstMetric(clusterInfo, prometheus.GaugeValue, 1, state.Name, state.Status.Version)
		}
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
