package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// stakater are the metrics of Stakater Reloader that dashboards use.
type stakater struct {
	executed *prometheus.CounterVec
	// byNamespace is nil unless reloads are counted for each namespace.
	byNamespace *prometheus.CounterVec
}

func newStakater(r prometheus.Registerer, countByNamespace bool) stakater {
	m := stakater{executed: counters("reloader_reload_executed_total", "Attempts to roll a workload, by success.", "success")}
	if countByNamespace {
		m.byNamespace = counters("reloader_reload_executed_total_by_namespace", "Attempts to roll a workload, by success and namespace.", "success", "namespace")
		r.MustRegister(m.byNamespace)
	}
	r.MustRegister(m.executed)
	for _, success := range []bool{true, false} {
		m.executed.WithLabelValues(strconv.FormatBool(success))
	}
	return m
}
