package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/ops"
	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/dispatcher/canary"
	"github.com/reroll-dev/reroll/ingest/webhook"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
)

// program is what the parts of one process share.
type program struct {
	*house
	settings config.Config
	version  string
	logger   *slog.Logger
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

// dispatching is what a process has that dispatches.
type dispatching struct {
	// canary finds out whether the audit feed works; nil if not wanted.
	canary *canary.Canary
	// dispatcher has the dispatcher once there is one.
	dispatcher atomic.Pointer[dispatcher.Dispatcher]
	ledger     *kube.Ledger
	// controls is what those who run the cluster want held back.
	controls controls
}

// certified has the certificates of a process.
type certified struct {
	// ingestCertificate is the certificate of ingest if Reroll's own CA signs it; nil if not.
	ingestCertificate *certificate.Managed
	// ingestFiles and ingestCAs are those of its files; nil without files.
	ingestFiles *certificate.Files
	ingestCAs   *certificate.CAs
	// managed is the certificate of the admission webhook if Reroll's own CA signs it; nil if not.
	managed *certificate.Managed
	// certificates are those that the process shows, or believes.
	certificates certificates
}

// run starts the parts that the settings name, waits until ctx ends or a part fails, and takes them down. Each part's own end is registered as soon as
// it runs, and what stores comes up before what would store: hints can be taken as soon as the port is open.
func run(ctx context.Context, s config.Config, version string) (err error) {
	logger := newLogger(os.Stderr, s.Log)
	slog.SetDefault(logger)
	kube.LogTo(logger)
	name := nameOf(s)
	p := &program{house: newHouse(logger), settings: s, version: version, logger: logger, registry: newRegistry(version, name), status: newStatus()}
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
	var wrong error
	err := p.insist(ctx, "NATS is not ready", func(ctx context.Context) error {
		q, err := queue.Open(ctx, o)
		if queue.Permanent(err) {
			wrong, err = err, nil
		}
		p.queue = q
		return err
	})
	if err := errors.Join(wrong, err); err != nil {
		return err
	}
	q := p.queue
	p.onEnd("queue", q.Close)
	p.health.add("nats", q.Healthy)
	p.start("store", q.AwaitStuck)
	return nil
}

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
	if s.TLSCert != "" && s.TLSKey != "" && p.ingestFiles == nil {
		files, err := certificate.NewFiles("ingest", s.TLSCert, s.TLSKey)
		if err == nil {
			err = files.Check()
		}
		if err != nil {
			return o, err
		}
		p.ingestFiles = files
	}
	if s.TLSClientCA != "" && p.ingestCAs == nil {
		if p.ingestCAs, err = certificate.NewCAs("ingest clients", s.TLSClientCA); err != nil {
			return o, err
		}
	}
	if p.ingestFiles != nil {
		o.Certificate = func() (*tls.Certificate, error) { return p.ingestFiles.Get(nil) }
	}
	if p.ingestCAs != nil {
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

// ingest takes audit events, as soon as there is a certificate.
func (p *program) ingest(ctx context.Context) error {
	o, err := p.ingestOptions()
	switch {
	case err == nil:
		return p.serveIngest(ctx, o)
	case !p.awaited(err):
		return err
	}
	p.logger.Warn("a file of ingest is not there yet", "error", err)
	var missing atomic.Pointer[error]
	missing.Store(&err)
	p.health.add("ingest", func(context.Context) error { return *missing.Load() })
	p.start("ingest", func(ctx context.Context) error {
		_ = retry(ctx, fileWait, func() error {
			o, err = p.ingestOptions()
			missing.Store(&err)
			return err
		})
		if ctx.Err() == nil {
			if err := p.serveIngest(ctx, o); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return nil
	})
	return nil
}

// fileWait is the longest pause between two looks for a file that is not there yet.
const fileWait = time.Second

func (p *program) serveIngest(ctx context.Context, o webhook.Options) error {
	o.Sink, o.Registerer = p.sink(), p.registry
	if p.ingestFiles != nil {
		p.show("ingest", p.ingestFiles)
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
	p.certificates.add("audit-client", server.ClientCertificate)
	p.logger.Info("listening", "part", "ingest", "address", address.String())
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
	p.registry.MustRegister(&p.certificates)
	o := ops.Options{Gatherer: p.registry, Ready: p.health.state, Logger: p.logger}
	if p.settings.Runs(config.Dispatches) {
		o.Barrier = p.barrier
	}
	handler := ops.New(o)
	_, err := p.listen("metrics", p.settings.Metrics.Address, api.HTTPServer(handler, api.DefaultLimits(), p.logger))
	return err
}

// barrier waits until nothing is in flight in a namespace.
func (p *program) barrier(ctx context.Context, namespace string) ops.Outlook {
	d := p.dispatcher.Load()
	if d == nil {
		return ops.Outlook{Pending: []string{errStarting.Error()}}
	}
	return ops.Outlook(d.Barrier(ctx, namespace))
}

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
