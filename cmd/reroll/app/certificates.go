package app

import (
	"crypto/x509"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// certificates are those that Reroll has made, and the one of API servers that ends first, for Prometheus. Others are the business of whoever
// makes their files.
type certificates struct {
	mu      sync.Mutex
	sources []certificateSource
}

// certificateSource has a certificate of some use: nil if there is none yet.
type certificateSource struct {
	use string
	get func() *x509.Certificate
}

var (
	certificateEnds = prometheus.NewDesc("reroll_certificate_expiry_timestamp_seconds",
		"When a certificate in use ends.", []string{"certificate"}, nil)
	certificateBegins = prometheus.NewDesc("reroll_certificate_not_before_timestamp_seconds",
		"When the same certificate began to be valid.", []string{"certificate"}, nil)
)

// Describe names the metrics.
func (c *certificates) Describe(out chan<- *prometheus.Desc) {
	out <- certificateEnds
	out <- certificateBegins
}

// Collect inspects each certificate.
func (c *certificates) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	sources := slices.Clone(c.sources)
	c.mu.Unlock()
	for _, s := range sources {
		if cert := s.get(); cert != nil {
			out <- prometheus.MustNewConstMetric(certificateEnds, prometheus.GaugeValue, float64(cert.NotAfter.Unix()), s.use)
			out <- prometheus.MustNewConstMetric(certificateBegins, prometheus.GaugeValue, float64(cert.NotBefore.Unix()), s.use)
		}
	}
}

// add has a certificate inspected from now on.
func (c *certificates) add(use string, get func() *x509.Certificate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sources = append(c.sources, certificateSource{use, get})
}

// addManaged has one inspected that Reroll makes.
func (c *certificates) addManaged(use string, made presented) {
	c.add(use, func() *x509.Certificate {
		if current, err := made.Get(nil); err == nil {
			return current.Leaf
		}
		return nil
	})
}
