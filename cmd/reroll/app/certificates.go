package app

import (
	"context"
	"crypto/x509"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// inspect has the metrics of a certificate registered: not a number while there is none.
func (p *program) inspect(use string, get func() *x509.Certificate) {
	gauge := func(name, help string, at func(*x509.Certificate) time.Time) {
		o := prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: prometheus.Labels{"certificate": use}}
		p.registry.MustRegister(prometheus.NewGaugeFunc(o, func() float64 {
			if cert := get(); cert != nil {
				return float64(at(cert).Unix())
			}
			return math.NaN()
		}))
	}
	gauge("reroll_certificate_expiry_timestamp_seconds", "When a certificate in use ends.", func(c *x509.Certificate) time.Time { return c.NotAfter })
	gauge("reroll_certificate_not_before_timestamp_seconds", "When the same certificate began to be valid.", func(c *x509.Certificate) time.Time { return c.NotBefore })
}

func (p *program) inspectPresented(use string, made presented) {
	p.inspect(use, func() *x509.Certificate {
		if current, err := made.Get(nil); err == nil {
			return current.Leaf
		}
		return nil
	})
}

// show keeps a certificate in files up to date, and has it inspected.
func (p *program) show(use string, files *certificate.Files) {
	p.start(use+" certificate", files.Run)
	p.inspectPresented(use, files)
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
	p.inspectPresented("ingest", made)
	if s.Source == config.SourceAudit {
		p.health.add("ingest", func(context.Context) error {
			_, err := made.Get(nil)
			return err
		})
	}
}
