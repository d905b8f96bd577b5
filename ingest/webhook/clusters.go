package webhook

import (
	"strconv"
	"sync"

	"github.com/reroll-dev/reroll/ingest/audit"
	"github.com/reroll-dev/reroll/reloader"
)

// maxClusters bounds the values of the label cluster. Who is sent credentials is a choice of whoever runs this, but over plain HTTP any
// name is believed.
const maxClusters = 256

// clusterLabels gives metrics their label cluster.
type clusterLabels struct {
	mu    sync.Mutex
	known map[string]bool
}

// label returns what metrics call a cluster for which a sender speaks: its name, or nothing if that is empty or there are too many. At the
// first sight of a name its series begin, with a zero for every other label value.
func (m *metrics) label(cluster string) string {
	m.clusters.mu.Lock()
	defer m.clusters.mu.Unlock()
	if cluster == "" || m.clusters.known[cluster] {
		return cluster
	}
	if len(m.clusters.known) == maxClusters {
		return ""
	}
	m.clusters.known[cluster] = true
	m.begin(cluster)
	return cluster
}

// begin makes the series of a cluster.
func (m *metrics) begin(cluster string) {
	for _, code := range answers {
		m.requests.WithLabelValues(cluster, strconv.Itoa(code))
	}
	m.events.WithLabelValues(cluster, resultHint)
	for _, skip := range audit.Skips {
		m.events.WithLabelValues(cluster, string(skip))
	}
	for _, source := range []reloader.Source{reloader.SourceAudit, reloader.SourceShipped} {
		m.age.WithLabelValues(cluster, string(source))
	}
	m.hints.WithLabelValues(cluster)
	m.duration.WithLabelValues(cluster)
	m.lastEvent.WithLabelValues(cluster)
}
