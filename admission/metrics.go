package admission

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The results of a review: nothing to do; only restored what the request dropped; brought to its configs; something failed and is left to the
// dispatcher; the caller did not prove to be an API server; the request could not be read.
const (
	resultUntouched = "untouched"
	resultRestored  = "restored"
	resultMarked    = "marked"
	resultMissed    = "missed"
	resultUnproven  = "unproven"
	resultRefused   = "refused"
)

type metrics struct {
	reviews *prometheus.CounterVec
	seconds prometheus.Histogram
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_admission_reviews_total", Help: "Requests of the admission webhook, by result.",
		}, []string{"result"}),
		prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "reroll_admission_review_seconds", Help: "Delay that the admission webhook adds to the write of a workload.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},

			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
		}),
	}
	for _, result := range []string{resultUntouched, resultRestored, resultMarked, resultMissed, resultUnproven, resultRefused} {
		m.reviews.WithLabelValues(result)
	}
	r.MustRegister(m.reviews, m.seconds)
	return m
}

func (m *metrics) observe(result string, began time.Time) {
	m.reviews.WithLabelValues(result).Inc()
	m.seconds.Observe(time.Since(began).Seconds())
}
