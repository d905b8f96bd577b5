package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"

	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/ingest/webhook"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// ingestOptions turns the settings into those of the webhook, once its files are there.
func (p *program) ingestOptions() (o webhook.Options, err error) {
	s := p.settings.Ingest
	o = webhook.Options{Address: s.Address, TokenFile: s.TokenFile, InsecureHTTP: s.InsecureHTTP, Logger: p.logger}
	if p.settings.Runs(config.Dispatches) {
		o.Clusters = []string{p.settings.ClusterName}
	}
	if p.settings.MakesCertificate() {
		o.Certificate = func() (*tls.Certificate, error) { return p.ingestCertificate.Get(nil) }
		o.ClientCAs = func() *x509.CertPool { return p.ingestCertificate.Authorities() }
	}
	if s.TLSCert != "" && s.TLSKey != "" {
		if p.ingestFiles, err = certificate.NewFiles("ingest", s.TLSCert, s.TLSKey); err == nil {
			err = p.ingestFiles.Check()
		}
		if err != nil {
			return o, err
		}
		o.Certificate = func() (*tls.Certificate, error) { return p.ingestFiles.Get(nil) }
	}
	if s.TLSClientCA != "" {
		if p.ingestCAs, err = certificate.NewCAs("ingest clients", s.TLSClientCA); err != nil {
			return o, err
		}
		o.ClientCAs = p.ingestCAs.Pool
	}
	return o, o.Validate()
}

// checkIngest finds what is wrong with the ingest's own settings before anything else is started.
func (p *program) checkIngest(context.Context) error {
	if _, err := p.ingestOptions(); !p.awaited(err) {
		return err
	}
	return nil
}

// awaited reports whether a process without a dispatcher waits for an end of err: another process is still to make the files.
func (p *program) awaited(err error) bool {
	return errors.Is(err, fs.ErrNotExist) && !p.settings.Runs(config.Dispatches)
}

// ingest takes audit events, as soon as there is a certificate. It is the last part to start, so it can wait.
func (p *program) ingest(ctx context.Context) error {
	var o webhook.Options
	if err := queue.Retry(ctx, p.logger, "a file of ingest is not there yet", func() (err error) {
		if o, err = p.ingestOptions(); err != nil && !p.awaited(err) {
			return queue.Final(err)
		}
		return err
	}); err != nil {
		return err
	}
	o.Sink, o.Registerer = p.sink(), p.registry
	if p.ingestFiles != nil {
		p.present("ingest", p.ingestFiles)
	}
	if p.ingestCAs != nil {
		p.start("ingest client CAs", p.ingestCAs.Run)
	}
	server, err := webhook.New(o)
	if err != nil {
		return err
	}
	address, err := server.Listen(ctx)
	if err != nil {
		return err
	}
	go func() {
		if err := server.Serve(); err != nil {
			p.fail(err)
		}
	}()
	p.onEnd("ingest", server.Shutdown)
	p.inspect("audit-client", server.ClientCertificate)
	p.logger.Info("listening", "part", "ingest", "address", address.String())
	return nil
}
