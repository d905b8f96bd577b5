package app

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/reroll-dev/reroll/admission"
	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// admitAlone reaches the API server and starts the admission webhook in a process of its own.
func (p *program) admitAlone(ctx context.Context) error {
	cluster, dialects, err := p.connect(ctx)
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

func (p *program) admit(cluster *kube.Cluster, ring *digest.Ring, dialects dialect.Set) error {
	s := p.settings
	handler := admission.New(admission.Options{
		Rules:   admission.Rules{Dialects: dialects, Ring: ring, Strategy: s.Reload.Strategy, HashOnly: !s.Reload.ToolMarks},
		Configs: cluster, InScope: cluster.Covers, DryRun: s.DryRun, Logger: p.logger, Registerer: p.registry,
	})
	shown, err := p.admissionCertificate(cluster)
	if err != nil {
		return err
	}
	server := handler.Server()
	server.TLSConfig = tlsOf(shown)
	// Only a process that does nothing else is not ready without a certificate.
	if !s.Runs(config.Dispatches) {
		p.await("admission", shown)
	}
	return p.listen("admission", s.Admission.Address, server)
}

// admissionCertificate returns the certificate of the files, or that of Reroll's own CA: kept by this process, or by the dispatcher.
func (p *program) admissionCertificate(cluster *kube.Cluster) (presented, error) {
	a := p.settings.Admission
	if a.TLSCert != "" {
		files, err := certificate.NewFiles("admission", a.TLSCert, a.TLSKey)
		if err == nil {
			p.present("admission", files)
		}
		return files, err
	}
	if p.managed == nil {
		p.managed = certificate.NewManaged(certificate.Options{Store: cluster.AdmissionCertificate(), Of: "admission", Follows: true, Logger: p.logger})
		p.present("admission", p.managed)
	}
	return p.managed, nil
}

// keepAdmission keeps the configuration of the webhook for API servers, in this process or another: its path, and the CA of the certificate
// unless that comes from files.
func (p *program) keepAdmission(cluster *kube.Cluster, ring *digest.Ring) {
	a := p.settings.Admission
	publish := func(ctx context.Context, bundle []byte) error {
		return cluster.PublishAdmission(ctx, a.Configuration, bundle, admission.PathAt(ring, time.Now()))
	}
	if a.TLSCert != "" || a.CertificateLifetime == 0 {
		p.start("admission path", func(ctx context.Context) error { return p.keepPath(ctx, publish) })
		return
	}
	hosts := []string{a.Service + "." + cluster.Namespace + ".svc", "localhost", "127.0.0.1"}
	p.managed = certificate.NewManaged(certificate.Options{
		Store: cluster.AdmissionCertificate(), Publish: publish, Of: "admission", Hosts: hosts, Lifetime: a.CertificateLifetime, Logger: p.logger,
	})
	p.present("admission", p.managed)
}

const pathTick = 30 * time.Second

func (p *program) keepPath(ctx context.Context, publish func(context.Context, []byte) error) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := publish(ctx, nil); err != nil && ctx.Err() == nil {
			p.logger.Warn("the path of the admission webhook could not be published, and is published again", "error", err)
		}
	}, pathTick)
	return ctx.Err()
}
