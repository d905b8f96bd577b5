package admission

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// What became of a review.
const (
	// resultUntouched: there was nothing to do.
	resultUntouched = "untouched"
	// resultRestored: marks that the request dropped are there again, and nothing else was done.
	resultRestored = "restored"
	// resultMarked: marks were added or brought up to date.
	resultMarked = "marked"
	// resultMissed: something went wrong, and what it kept from being done is left to the dispatcher.
	resultMissed = "missed"
	// resultUnproven: the caller did not prove to be an API server, and learned nothing.
	resultUnproven = "unproven"
	// resultRefused: nobody could understand the request.
	resultRefused = "refused"
)

// metrics are what the webhook counts.
type metrics struct {
	reviews *prometheus.CounterVec
	seconds prometheus.Histogram
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		reviews: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reroll_admission_reviews_total", Help: "Requests of the admission webhook, by what became of them.",
		}, []string{"result"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "reroll_admission_review_seconds", Help: "Time that requests of the admission webhook took, for which whoever writes a workload waits.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},

			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
		}),
	}
	for _, result := range []string{resultUntouched, resultRestored, resultMarked, resultMissed, resultUnproven, resultRefused} {
		m.reviews.WithLabelValues(result)
	}
	if r != nil {
		r.MustRegister(m.reviews, m.seconds)
	}
	return m
}

func (m *metrics) observe(result string, began time.Time) {
	m.reviews.WithLabelValues(result).Inc()
	m.seconds.Observe(time.Since(began).Seconds())
}
