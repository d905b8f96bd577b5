package dispatcher

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// stakaterMetrics count under the names of Stakater Reloader what the dispatcher does, so that its users keep their dashboards and
// alerts. What each name means here is in docs/alerts-and-metrics.md. Labels come from closed sets, but for the namespace of one counter
// that is off unless somebody asks for it. All methods may be called by several goroutines.
type stakaterMetrics struct {
	executed *prometheus.CounterVec
	// byNamespace is nil unless reloads are counted for each namespace.
	byNamespace *prometheus.CounterVec

	reconciles       *prometheus.CounterVec
	reconcileSeconds *prometheus.HistogramVec
	actions          *prometheus.CounterVec
	actionSeconds    *prometheus.HistogramVec

	skips, errors     *prometheus.CounterVec
	retries           prometheus.Counter
	hints, answered   *prometheus.CounterVec
	compared, matched *prometheus.CounterVec

	queueDepth   prometheus.Gauge
	queueAdds    prometheus.Counter
	queueSeconds prometheus.Histogram
}

// Label values of Stakater Reloader.
const (
	resultSuccess = "success"
	resultError   = "error"
	resultSkipped = "skipped"
	// resultDropped is that of events which were given up. A hint never is.
	resultDropped = "dropped"

	skipUnselected = "ignored_or_not_selected"
	skipUnchanged  = "no_data_change"
	skipUnwritten  = "strategy_not_updated"

	errorHandling = "handler_error"
	// errorInvalid is that of a queue with objects of a type that nobody knows. Ours are typed.
	errorInvalid = "invalid_handler_type"

	eventAdd    = "add"
	eventUpdate = "update"
	eventDelete = "delete"
	// eventUnknown is what every event is called after it was worked on.
	eventUnknown = "unknown"
)

// resourceTypes has the names of what hints are about.
var resourceTypes = map[reloader.ConfigKind]string{
	reloader.ConfigMap:           "configmaps",
	reloader.Secret:              "secrets",
	reloader.SecretProviderClass: "secretproviderclasspodstatuses",
}

// eventTypes has the event that a watcher would have seen after a request of each verb.
var eventTypes = map[reloader.Verb]string{
	reloader.VerbCreate:           eventAdd,
	reloader.VerbUpdate:           eventUpdate,
	reloader.VerbPatch:            eventUpdate,
	reloader.VerbDelete:           eventDelete,
	reloader.VerbDeleteCollection: eventDelete,
}

// received counts a hint that the stream has delivered.
func (m *stakaterMetrics) received(h reloader.Hint) {
	m.hints.WithLabelValues(eventTypes[h.Verb], resourceTypes[h.Config.Kind]).Inc()
}

// processed counts a hint that was acknowledged, after a look at its config or because nobody depends on that.
func (m *stakaterMetrics) processed(h reloader.Hint, looked bool) {
	m.answered.WithLabelValues(eventUnknown, resourceTypes[h.Config.Kind], resultSuccess).Inc()
	if !looked {
		m.skips.WithLabelValues(skipUnselected).Inc()
	}
}

// look is one look at a config that is under way.
type look struct {
	metrics *stakaterMetrics
	// hinted says that somebody else gave the reason to look.
	hinted bool
	began  time.Time
	result string
}

// look begins to measure a look for the sake of hints, or without any. It counts as failed until finds says otherwise.
func (m *stakaterMetrics) look(hints []reloader.Hint) *look {
	return &look{metrics: m, hinted: len(hints) > 0, began: time.Now(), result: resultError}
}

// finds takes note of what the look has found: a change of some type, or none, which is the zero type. Nothing is found with err.
func (l *look) finds(change reloader.ChangeType, err error) {
	switch {
	case err != nil:
	case change == "", change == reloader.ChangeBaseline:
		l.result = resultSkipped
	default:
		l.result = resultSuccess
	}
}

// end counts the look. One of our own accord that finds nothing new skips nothing.
func (l *look) end() {
	l.metrics.reconciles.WithLabelValues(l.result).Inc()
	l.metrics.reconcileSeconds.WithLabelValues(l.result).Observe(time.Since(l.began).Seconds())
	if l.hinted && l.result == resultSkipped {
		l.metrics.skips.WithLabelValues(skipUnchanged).Inc()
	}
}

// decided counts the steps that were concluded of a workload of a kind.
func (m *stakaterMetrics) decided(kind string, steps []step) {
	m.compared.WithLabelValues(kind).Add(float64(len(steps)))
	for _, s := range steps {
		if s.why.Reload {
			m.matched.WithLabelValues(kind).Inc()
		}
		if reason := skipReason(s); reason != "" {
			m.skips.WithLabelValues(reason).Inc()
		}
	}
}

// skipReason says why a step came to nothing; empty if it did not.
func skipReason(s step) string {
	switch {
	case s.outcome == reloader.ReasonReloaded, s.outcome == reloader.ReasonDryRun, s.outcome == reloader.ReasonNotified:
		return ""
	case s.outcome == reloader.ReasonReverted:
		return skipUnchanged
	case !s.why.Reload:
		return skipUnselected
	}
	return skipUnwritten
}

// rolled counts one try to roll a workload, and the time since its quiet window closed.
func (m *stakaterMetrics) rolled(ref reloader.WorkloadRef, took time.Duration, success bool) {
	result := resultError
	if success {
		result = resultSuccess
	}
	m.executed.WithLabelValues(strconv.FormatBool(success)).Inc()
	if m.byNamespace != nil {
		m.byNamespace.WithLabelValues(strconv.FormatBool(success), ref.Namespace).Inc()
	}
	m.actions.WithLabelValues(ref.Kind, result).Inc()
	m.actionSeconds.WithLabelValues(ref.Kind).Observe(took.Seconds())
}

// countFailure counts a try to roll w that met err. Where nothing is to be written it is no such try, but failed work all the same.
func (d *Dispatcher) countFailure(w *workload.Workload, took time.Duration, err error) {
	d.stakater.failed(err)
	if d.instead() == reloader.ReasonReloaded {
		d.stakater.rolled(w.Ref(), took, false)
	}
}

// failed counts work that met err and is tried again; without an error it counts nothing.
func (m *stakaterMetrics) failed(err error) {
	if err == nil {
		return
	}
	m.errors.WithLabelValues(errorHandling).Inc()
	m.retried()
}

// retried counts work that is tried again.
func (m *stakaterMetrics) retried() { m.retries.Inc() }
