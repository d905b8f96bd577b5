package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/admission"
	"github.com/reroll-dev/reroll/admission/certificate"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// admitAlone reaches the API server and starts the admission webhook in a process of its own.
func (p *program) admitAlone(ctx context.Context) error {
	dialects, err := p.settings.dialects().Choose(p.settings.Dialects)
	if err != nil {
		return fmt.Errorf("--%s: %w", dialectsFlag, err)
	}
	if a := p.settings.Admission; a.TLSCert != "" {
		if _, err := certificate.NewFiles(a.TLSCert, a.TLSKey, p.logger); err != nil {
			return err // what is wrong with its own settings is found before anything else is asked
		}
	}
	if err := kube.RegisterRequestMetrics(p.registry); err != nil {
		return err
	}
	cluster, err := kube.Connect(ctx, p.kubeOptions(dialects))
	if err != nil {
		return err
	}
	ring, err := cluster.DigestKeys(ctx)
	if err != nil {
		return err
	}
	p.health.add("apiserver", cluster.Healthy)
	return p.admit(cluster, ring, dialects)
}

// presented is a certificate that is shown to API servers.
type presented interface {
	Get(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Expiry() time.Time
}

// admit starts the admission webhook.
func (p *program) admit(cluster *kube.Cluster, ring *digest.Ring, dialects dialect.Set) error {
	s := p.settings
	handler := admission.New(admission.Options{
		Rules: admission.Rules{
			Dialects: dialects, Ring: ring, Strategy: s.ReloadStrategy,
			HoldScheduling: s.Admission.HoldScheduling, RefuseUnexpected: s.Admission.RefuseUnexpectedHash,
		},
		Configs: cluster, InScope: s.admits, DryRun: s.DryRun, Logger: p.logger, Registerer: p.registry,
	})
	shown, err := p.admissionCertificate(cluster)
	if err != nil {
		return err
	}
	server := handler.Server()
	server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: shown.Get}
	if s.Admission.ClientCA != "" {
		clients, err := certificate.NewAuthorities(s.Admission.ClientCA, p.logger)
		if err != nil {
			return fmt.Errorf("--admission-tls-client-ca: %w", err)
		}
		clients.Demand(server)
	}
	return p.listenAdmission(server, shown)
}

var errNoCertificate = errors.New("there is no certificate yet")

// listenAdmission serves. Only a process that does nothing else is not ready without a certificate: others have more to do.
func (p *program) listenAdmission(server *http.Server, shown presented) error {
	if p.role.admitOnly() {
		p.health.add("admission", func(context.Context) error {
			if shown.Expiry().IsZero() {
				return errNoCertificate
			}
			return nil
		})
	}
	_, err := p.listen("admission", p.settings.Admission.Address, server)
	return err
}

// admissionCertificate returns the certificate of the files, or one that is managed from now on.
func (p *program) admissionCertificate(cluster *kube.Cluster) (presented, error) {
	a := p.settings.Admission
	if a.TLSCert != "" {
		return certificate.NewFiles(a.TLSCert, a.TLSKey, p.logger)
	}
	hosts := a.Hosts
	if len(hosts) == 0 {
		hosts = []string{"reroll-admission." + cluster.Namespace + ".svc"}
	}
	managed := certificate.NewManaged(certificate.Options{
		Store: cluster.AdmissionCertificate(a.Configuration), Hosts: hosts, Lifetime: a.CertificateLifetime, Logger: p.logger,
	})
	p.start("admission certificate", managed.Run)
	p.certificates.add("admission", func() (*x509.Certificate, error) {
		if current, err := managed.Get(nil); err == nil {
			return current.Leaf, nil
		}
		return nil, nil
	})
	return managed, nil
}

// admits reports whether workloads of a namespace count, as far as its name tells. Its labels are the business of the namespaceSelector
// with which the webhook is registered.
func (s Settings) admits(namespace string) bool {
	if len(s.Namespaces) > 0 {
		return slices.Contains(s.Namespaces, namespace)
	}
	return !slices.Contains(s.NamespacesToIgnore, namespace)
}
