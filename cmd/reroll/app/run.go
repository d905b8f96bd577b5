package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/ops"
	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/dispatcher/canary"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
)

// program is what the parts of one process share.
type program struct {
	*house
	settings config.Config
	version  string
	registry *prometheus.Registry
	queue    *queue.Queue
	health   health
	// started says that every part runs, watching that configs are watched.
	started, watching atomic.Bool
	status            *status
	dispatching
	// member forwards records to a hub; nil if there is none.
	member *hub.Member
	certified
}

type dispatching struct {
	// canary finds out whether the audit feed works; nil if not wanted.
	canary *canary.Canary
	// dispatcher has the dispatcher once there is one.
	dispatcher atomic.Pointer[dispatcher.Dispatcher]
	ledger     *kube.Ledger
	// controls is what those who run the cluster want held back.
	controls controls
}

type certified struct {
	// ingestCertificate is the certificate of ingest if Reroll's own CA signs it; nil if not.
	ingestCertificate *certificate.Managed
	// ingestFiles and ingestCAs are those of its files; nil without files.
	ingestFiles *certificate.Files
	ingestCAs   *certificate.CAs
	// managed is the certificate of the admission webhook if Reroll's own CA signs it; nil if not.
	managed *certificate.Managed
}

// run starts the parts that the settings name, waits until ctx ends or a part fails, and takes them down. Each part's own end is registered as soon as
// it runs, and what stores comes up before what would store: hints can be taken as soon as the port is open.
func run(ctx context.Context, s config.Config, version string) (err error) {
	logger := newLogger(os.Stderr, s.Log)
	slog.SetDefault(logger)
	kube.LogTo(logger)
	name := nameOf(s)
	p := &program{house: newHouse(logger), settings: s, version: version, registry: newRegistry(version, name), status: newStatus()}
	p.health.changed = p.status.hurry
	defer func() { err = errors.Join(err, p.close()) }()

	for _, w := range s.Warnings {
		logger.Warn("a setting has no effect", "setting", w)
	}
	logger.Info("starting", "role", name, "version", version)
	for _, start := range p.parts() {
		if err := start(ctx); err != nil {
			if ctx.Err() != nil {
				return nil // asked to end while starting
			}
			return err
		}
	}
	p.started.Store(true)
	p.onEnd("readiness", p.health.end)
	err = p.wait(ctx)
	logger.Info("stopping", "role", name)
	return err
}

// parts lists what the process starts, in order; the end is in reverse.
func (p *program) parts() []func(context.Context) error {
	parts := []func(context.Context) error{}
	receives := p.settings.Ingests()
	if receives {
		parts = append(parts, p.checkIngest)
	}
	parts = append(parts, p.serveOps)
	if p.settings.AdmitsAlone() {
		return append(parts, p.admitAlone)
	}
	parts = append(parts, p.openQueue)
	if p.settings.Runs(config.Answers) {
		parts = append(parts, p.answer)
	}
	if p.settings.Runs(config.Dispatches) {
		parts = append(parts, p.dispatch)
	} else if p.settings.Runs(config.Admits) {
		parts = append(parts, p.admitAlone)
	}
	if receives {
		parts = append(parts, p.ingest)
	}
	return parts
}

// nameOf is what a process is called in logs, metrics and NATS: serve, or the parts that it runs.
func nameOf(s config.Config) string {
	if slices.Equal(s.Components, config.Default().Components) {
		return "serve"
	}
	return strings.Join(s.Components, "+")
}

// streamsOf returns those that the process uses.
func streamsOf(s config.Config) (streams []string) {
	if s.Runs(config.Ingests) || s.Runs(config.Dispatches) {
		streams = append(streams, queue.HintsStream)
	}
	if s.Runs(config.Answers) || s.Runs(config.Dispatches) {
		streams = append(streams, queue.HistoryStream, queue.StateStream)
	}
	return streams
}

func (p *program) openQueue(ctx context.Context) error {
	o := p.settings.NATS.Options()
	o.StoreDir, o.Name, o.Streams, o.Logger, o.Registerer = p.settings.DataDir, "reroll-"+nameOf(p.settings), streamsOf(p.settings), p.logger, p.registry
	if err := queue.Retry(ctx, p.logger, "NATS is not ready", func() (err error) {
		if p.queue, err = queue.Open(ctx, o); queue.Permanent(err) {
			return queue.Final(err)
		}
		return err
	}); err != nil {
		return err
	}
	q := p.queue
	p.onEnd("queue", q.Close)
	p.health.add("nats", q.Healthy)
	p.start("store", q.AwaitStuck)
	return nil
}

var errStarting = errors.New("some parts are still starting")

// serveOps opens the port of metrics and health. It comes early, so that a user who watches sees what a long start waits for.
func (p *program) serveOps(context.Context) error {
	p.health.add("start", func(context.Context) error {
		if !p.started.Load() {
			return errStarting
		}
		return nil
	})
	p.start("health", p.health.run)
	o := ops.Options{Gatherer: p.registry, Ready: p.health.state, Logger: p.logger}
	if p.settings.Runs(config.Dispatches) {
		o.Barrier = p.barrier
	}
	return p.listen("metrics", p.settings.Metrics.Address, api.HTTPServer(ops.New(o), p.logger))
}

// barrier waits until nothing is in flight in a namespace.
func (p *program) barrier(ctx context.Context, namespace string) (pending, held []string) {
	d := p.dispatcher.Load()
	if d == nil {
		return []string{errStarting.Error()}, nil
	}
	return d.Barrier(ctx, namespace)
}
