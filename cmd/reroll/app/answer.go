package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/auth"
	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/reloader/kube"
)

func (p *program) answer(context.Context) error {
	records := projection.New(projection.Limits{})
	o := api.Options{
		Records: records, Version: p.version, Logger: p.logger, Metrics: p.registry,
		Hosts: hosts[p.settings.API.Auth], HostNames: p.settings.API.Hosts,
	}
	if p.settings.API.Auth == config.AuthToken {
		cluster, err := kube.Config(kube.Options{
			Kubeconfig: p.settings.Kubernetes.Kubeconfig, Context: p.settings.Kubernetes.Context, UserAgent: "reroll/" + p.version,
		})
		if err != nil {
			return fmt.Errorf("api.auth needs an API server: %w", err)
		}
		gate, err := auth.New(auth.Options{API: cluster, Audiences: p.settings.API.Audiences})
		if err != nil {
			return fmt.Errorf("api: %w", err)
		}
		o.Access, o.Cluster, o.Rights = gate, p.settings.ClusterName, p.settings.API.Rights
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
	server := api.HTTPServer(handler, p.logger)
	if p.settings.API.TLSCert != "" {
		shown, err := certificate.NewFiles("api", p.settings.API.TLSCert, p.settings.API.TLSKey)
		if err != nil {
			return err
		}
		p.present("api", shown)
		server.TLSConfig = tlsOf(shown)
	}
	return p.listen("api", p.settings.API.Address, server)
}

// hosts are the accepted names of the API in requests, by how clients authenticate.
var hosts = map[string]api.Hosts{config.AuthNone: api.LocalHosts, config.AuthAnonymous: api.PrivateHosts, config.AuthToken: api.AnyHost}
