package dispatcher

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/reloader"
)

// stakaterMetrics are the metrics of Stakater Reloader that dashboards use. All methods may be called by several goroutines.
type stakaterMetrics struct {
	executed *prometheus.CounterVec
	// byNamespace is nil unless reloads are counted for each namespace.
	byNamespace *prometheus.CounterVec
}

// newStakaterMetrics registers the metrics. The series without a namespace are there from the start, so that their first increment is seen as
// one.
func newStakaterMetrics(r prometheus.Registerer, countByNamespace bool) *stakaterMetrics {
	m := &stakaterMetrics{executed: counters("reloader_reload_executed_total", "Attempts to roll a workload, by success.", "success")}
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

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// rolled counts one attempt to roll a workload.
func (m *stakaterMetrics) rolled(ref reloader.WorkloadRef, success bool) {
	m.executed.WithLabelValues(strconv.FormatBool(success)).Inc()
	if m.byNamespace != nil {
		m.byNamespace.WithLabelValues(strconv.FormatBool(success), ref.Namespace).Inc()
	}
}
