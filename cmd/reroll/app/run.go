package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/ops"
	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/ingest/webhook"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// program is what the parts of one process share.
type program struct {
	*house
	settings Settings
	role     role
	version  string
	logger   *slog.Logger
	registry *prometheus.Registry
	queue    *queue.Queue
	health   health
	// started says that every part runs.
	started atomic.Bool
}

// run starts a role's parts, waits until ctx ends or a part fails, and takes them down. Each part's own end is registered as soon as
// it runs, and what stores comes up before what would store: hints can be taken as soon as the port is open.
func run(ctx context.Context, s Settings, r role, version string) (err error) {
	logger := newLogger(os.Stderr, s)
	slog.SetDefault(logger)
	p := &program{house: newHouse(logger), settings: s, role: r, version: version, logger: logger, registry: newRegistry()}
	defer func() { err = errors.Join(err, p.close()) }()

	logger.Info("starting", "role", r.name, "version", version)
	for _, start := range p.parts() {
		if err := start(ctx); err != nil {
			if ctx.Err() != nil {
				return nil // asked to end while starting
			}
			return err
		}
	}
	p.started.Store(true)
	err = p.wait(ctx)
	logger.Info("stopping", "role", r.name)
	return err
}

// parts lists what a role starts, in order; the end is in reverse.
func (p *program) parts() []func(context.Context) error {
	parts := []func(context.Context) error{}
	if p.role.ingest {
		parts = append(parts, p.checkIngest)
	}
	parts = append(parts, p.serveOps, p.openQueue)
	if p.role.answer {
		parts = append(parts, p.answer)
	}
	if p.role.dispatch {
		parts = append(parts, p.dispatch)
	}
	if p.role.ingest {
		parts = append(parts, p.ingest)
	}
	return parts
}

func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

func (p *program) openQueue(ctx context.Context) error {
	q, err := queue.Open(ctx, queue.Options{
		URL: p.settings.NATSURL, StoreDir: p.settings.DataDir, Name: "reroll-" + p.role.name, Logger: p.logger, Registerer: p.registry,
	})
	if err != nil {
		return err
	}
	p.queue = q
	p.onEnd("queue", q.Close)
	p.health.add("nats", q.Healthy)
	return nil
}

// ingestOptions turns the settings into those of the webhook.
func (p *program) ingestOptions() webhook.Options {
	s := p.settings
	o := webhook.Options{
		Address: s.IngestAddress, CertFile: s.IngestTLSCert, KeyFile: s.IngestTLSKey, ClientCAFile: s.IngestTLSClientCA,
		TokenFile: s.IngestTokenFile, InsecureHTTP: s.IngestInsecureHTTP, Logger: p.logger, Registerer: p.registry,
	}
	if p.role.dispatch {
		o.Clusters = []string{s.ClusterName}
	}
	return o
}

// checkIngest finds what is wrong with the ingest's own settings before anything else is started.
func (p *program) checkIngest(context.Context) error {
	o := p.ingestOptions()
	o.Sink = nowhere{}
	o.Registerer = nil
	return o.Validate()
}

func (p *program) ingest(ctx context.Context) error {
	o := p.ingestOptions()
	o.Sink = p.queue
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
	p.logger.Info("listening", "part", "ingest", "address", address.String())
	return nil
}

func (p *program) answer(context.Context) error {
	records := projection.New(projection.Limits{})
	handler, err := api.New(api.Options{
		Records: records, Version: view.Version{Version: p.version, GoVersion: runtime.Version()}, Logger: p.logger, Metrics: p.registry,
	})
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
	_, err = p.listen("api", p.settings.APIAddress, api.HTTPServer(handler, api.DefaultLimits(), p.logger))
	return err
}

var errStarting = errors.New("some parts are still starting")

// serveOps opens the port of metrics and health. It comes early, so that somebody who watches sees what a long start waits for.
func (p *program) serveOps(context.Context) error {
	p.health.add("start", func(context.Context) error {
		if !p.started.Load() {
			return errStarting
		}
		return nil
	})
	p.start("health", p.health.run)
	handler := ops.New(ops.Options{Gatherer: p.registry, Ready: p.health.state, Logger: p.logger})
	_, err := p.listen("metrics", p.settings.MetricsAddress, api.HTTPServer(handler, api.DefaultLimits(), p.logger))
	return err
}

// dispatch reaches the API server, so that a wrong address or credential is an error at once, and starts the dispatcher.
func (p *program) dispatch(ctx context.Context) error {
	s := p.settings
	dialects := dialect.Set{dialect.Stakater(dialect.StakaterOptions{AutoReloadAll: s.AutoReloadAll})}
	cluster, err := kube.Connect(ctx, kube.Options{
		Kubeconfig: s.Kubeconfig, Context: s.Context, Namespace: s.Namespace, QPS: s.KubeQPS, Burst: s.KubeBurst,
		UserAgent: "reroll/" + p.version, KeepAnnotation: dialects.KeepsAnnotation, DryRun: s.DryRun,
	})
	if err != nil {
		return err
	}
	ring, err := cluster.DigestKeys(ctx)
	if err != nil {
		return err
	}
	p.warnOfOthers(ctx, cluster)
	announcer := kube.NewAnnouncer(cluster, p.logger, p.registry)
	p.start("announcer", announcer.Run)
	d := dispatcher.New(dispatcher.Options{
		Cluster: s.ClusterName, Configs: cluster, Workloads: cluster, Announcer: announcer,
		Changes: p.queue, Records: p.queue, Hints: p.queue, Ring: ring, Dialects: dialects, Strategy: s.ReloadStrategy,
		Logger: p.logger, Registerer: p.registry, Window: s.CoalesceWindow, MaxWait: s.CoalesceMaxWait, DryRun: s.DryRun,
	})
	p.start("dispatcher", func(ctx context.Context) error { return p.runDispatcher(ctx, cluster, d) })
	p.health.add("apiserver", cluster.Healthy)
	p.health.add("dispatcher", func(context.Context) error { return d.Ready() })
	return nil
}

// runDispatcher loads the state, watches the workloads, and from then on works on hints until ctx ends.
func (p *program) runDispatcher(ctx context.Context, cluster *kube.Cluster, d *dispatcher.Dispatcher) error {
	if err := p.insist(ctx, "state could not be loaded", d.Load); err != nil {
		return nil
	}
	if err := cluster.Watch(ctx, d.Track, d.Forget); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	var hints sync.WaitGroup
	defer hints.Wait()
	hints.Go(func() { p.consume(ctx, d) })
	return d.Run(ctx)
}

// consume feeds hints to the dispatcher once it is ready. NATS may go away just before it begins.
func (p *program) consume(ctx context.Context, d *dispatcher.Dispatcher) {
	if retry(ctx, firstPause, d.Ready) != nil {
		return
	}
	_ = p.insist(ctx, "hints could not be consumed", func(ctx context.Context) error {
		return p.queue.ConsumeHints(ctx, p.settings.ClusterName, func(del queue.Delivery) { d.Handle(del) })
	})
}

// Pauses between two tries of something that must succeed some time.
const firstPause, longestPause = 100 * time.Millisecond, 5 * time.Second

// insist calls do until it succeeds, which gives nil, or ctx ends. Failures are logged under message, and make the next pause longer.
func (p *program) insist(ctx context.Context, message string, do func(context.Context) error) error {
	return retry(ctx, longestPause, func() error {
		err := do(ctx)
		if err != nil && ctx.Err() == nil {
			p.logger.Warn(message, "error", err)
		}
		return err
	})
}

// retry calls do until it returns nil or ctx ends. Each pause is twice as long as the one before, up to longest.
func retry(ctx context.Context, longest time.Duration, do func() error) error {
	for pause := firstPause; do() != nil; pause = min(2*pause, longest) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return nil
}

// warnOfOthers says so if another tool that restarts workloads seems to run in the cluster: each change would roll them twice.
func (p *program) warnOfOthers(ctx context.Context, cluster *kube.Cluster) {
	others, err := cluster.OtherReloaders(ctx)
	if err != nil {
		p.logger.Warn("could not look for other reloaders", "error", err)
		return
	}
	for _, other := range others {
		p.logger.Warn("another reloader seems to run in this cluster", "found", other, "dryRun", p.settings.DryRun)
	}
}
