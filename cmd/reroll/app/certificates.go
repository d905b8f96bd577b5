package app

import (
	"context"
	"crypto/tls"
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

// presented is a certificate that is shown to clients, and kept up to date by Run.
type presented interface {
	Get(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Run(context.Context) error
}

// present keeps a certificate up to date, and has it inspected.
func (p *program) present(use string, shown presented) {
	p.start(use+" certificate", shown.Run)
	p.inspect(use, func() *x509.Certificate {
		if current, err := shown.Get(nil); err == nil {
			return current.Leaf
		}
		return nil
	})
}

// await has the process ready only once there is a certificate.
func (p *program) await(use string, shown presented) {
	p.health.add(use, func(context.Context) error {
		_, err := shown.Get(nil)
		return err
	})
}

// tlsOf has a server show a certificate.
func tlsOf(shown presented) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: shown.Get}
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
	p.present("ingest", made)
	if s.Source == config.SourceAudit {
		p.await("ingest", made)
	}
}
