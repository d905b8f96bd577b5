package app

import (
	"context"
	"crypto/x509"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// certificates are those that the process presents, and the one of API servers that ends first, for Prometheus.
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

// addPresented has one inspected that the process presents.
func (c *certificates) addPresented(use string, made presented) {
	c.add(use, func() *x509.Certificate {
		if current, err := made.Get(nil); err == nil {
			return current.Leaf
		}
		return nil
	})
}

// show keeps a certificate in files up to date, and has it inspected.
func (p *program) show(use string, files *certificate.Files) {
	p.start(use+" certificate", files.Run)
	p.certificates.addPresented(use, files)
}

// keepCertificate makes and renews the certificate of ingest, if the settings ask for it. Only where audit events are all there is it matters to
// readiness that there is one.
func (p *program) keepCertificate(cluster *kube.Cluster) {
	s := p.settings
	if !s.MakesCertificate() {
		return
	}
	host := s.Ingest.Service + "." + cluster.Namespace + ".svc"
	made := certificate.NewManaged(certificate.Options{
		Store: cluster.IngestCertificate(s.Ingest.Service), Of: "ingest", Hosts: []string{host, host + ".cluster.local"},
		Lifetime: ingestLifetime, Logger: p.logger,
	})
	p.ingestCertificate = made
	p.start("ingest certificate", made.Run)
	p.certificates.addPresented("ingest", made)
	if s.Source == config.SourceAudit {
		p.health.add("ingest", func(context.Context) error {
			_, err := made.Get(nil)
			return err
		})
	}
}
