package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/auth"
	"github.com/reroll-dev/reroll/api/projection"
)

// answer starts the API over a projection of what is on record.
func (p *program) answer(context.Context) error {
	records := projection.New(projection.Limits{})
	o := api.Options{
		Records: records, Version: p.version, Logger: p.logger, Metrics: p.registry,
		Hosts: p.settings.Auth.hosts(), HostNames: p.settings.Auth.Hosts,
	}
	if p.settings.Auth.on() {
		gate, err := p.settings.gate(p.version)
		if err != nil {
			return fmt.Errorf("api: %w", err)
		}
		p.start("gate", gate.Run)
		o.Access = gate
	}
	handler, err := api.New(o)
	if err != nil {
		return fmt.Errorf("api: %w", err)
	}
	p.start("projection", func(ctx context.Context) error { return p.queue.Follow(ctx, follower(records)) })
	p.health.add("projection", func(context.Context) error {
		if !records.CaughtUp() {
			return errors.New("still reading what is stored")
		}
		return nil
	})
	return p.listenAPI(api.HTTPServer(handler, api.DefaultLimits(), p.logger))
}

// listenAPI serves the API, over TLS if it has a certificate.
func (p *program) listenAPI(server *http.Server) error {
	if p.settings.Auth.TLSCert != "" {
		certificate, err := auth.NewCertificate(p.settings.Auth.TLSCert, p.settings.Auth.TLSKey)
		if err != nil {
			return err
		}
		p.start("certificate", certificate.Run)
		server.TLSConfig = certificate.TLSConfig()
	}
	_, err := p.listen("api", p.settings.APIAddress, server)
	return err
}
