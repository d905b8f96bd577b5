package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/dispatcher/hot"
	"github.com/reroll-dev/reroll/dispatcher/notify"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// dispatch reaches the API server, so that a wrong address or credential is an error at once, and starts the dispatcher.
func (p *program) dispatch(ctx context.Context) error {
	s := p.settings
	cluster, dialects, err := p.connect(ctx)
	if err != nil {
		return err
	}
	if err := p.bind(ctx, cluster); err != nil {
		return err
	}
	ring, err := cluster.DigestKeys(ctx)
	if err != nil {
		return err
	}
	p.warnOfOthers(ctx, cluster)
	p.member = p.newMember(cluster)
	d, err := p.newDispatcher(cluster, ring, dialects)
	if err != nil {
		return err
	}
	p.dispatcher.Store(d)
	p.controls.redact, p.controls.set = s.RedactActors, func(c control.Control) {
		d.SetControl(c)
		p.status.hurry()
	}
	if s.Admission.Configuration != "" {
		p.keepAdmission(cluster, ring)
	}
	if s.Runs(config.Admits) {
		if err := p.admit(cluster, ring, dialects); err != nil {
			return err
		}
	}
	p.keepCertificate(cluster)
	if p.settings.Watches() {
		p.health.add("watch", func(context.Context) error {
			if !p.watching.Load() && !p.settings.LeaderElection {
				return errNotWatching
			}
			return nil
		})
	}
	p.startCanary(cluster, d)
	p.health.add("apiserver", cluster.Healthy)
	p.health.add("control", p.controls.healthy)
	p.health.add("hints", func(context.Context) error { return p.queue.Consuming() })
	p.start("dispatcher", func(ctx context.Context) error {
		if s.LeaderElection {
			return p.lead(ctx, cluster, d)
		}
		return p.runDispatcher(ctx, context.WithoutCancel(ctx), cluster, d)
	})
	p.health.add("dispatcher", func(context.Context) error {
		if s.LeaderElection && !cluster.Leading() {
			return nil // standing by is all there is to do
		}
		return d.Ready()
	})
	return nil
}

// connect reaches the API server, with what the settings say about annotations and scope.
func (p *program) connect(ctx context.Context) (*kube.Cluster, dialect.Set, error) {
	s := p.settings
	dialects := s.Dialects()
	kube.RegisterRequestMetrics(p.registry)
	cluster, err := kube.Connect(ctx, kube.Options{
		Kubeconfig: s.Kubernetes.Kubeconfig, Context: s.Kubernetes.Context, Namespace: s.Namespace, QPS: s.Kubernetes.QPS, Burst: max(1, int(2*s.Kubernetes.QPS)),
		UserAgent: "reroll/" + p.version, KeepAnnotation: dialects.KeepsAnnotation, DryRun: s.DryRun, Logger: p.logger,
		ResourceSelector: s.Scope.ResourceLabelSelector.Labels(),
		Scope: kube.Scope{
			Namespaces: s.Scope.Namespaces, IgnoredNamespaces: s.Scope.NamespacesToIgnore, NamespaceSelector: s.Scope.NamespaceSelector.Labels(),
			IgnoredKinds: s.Scope.IgnoredWorkloads(), IgnoredConfigs: s.Scope.IgnoredConfigs(), Classes: s.Reload.CSI, Rollouts: s.Reload.ArgoRollouts,
		},
	})
	return cluster, dialects, err
}

// bind makes sure that the name of the cluster stands for the one that we are connected to, now and at every later start.
func (p *program) bind(ctx context.Context, cluster *kube.Cluster) error {
	if cluster.UID == "" {
		p.logger.Warn("the identity of the cluster may not be read: that its name stands for it is not checked")
		return nil
	}
	return queue.Retry(ctx, p.logger, "the name of the cluster could not be bound", func() error {
		err := p.queue.BindCluster(ctx, p.settings.ClusterName, cluster.UID)
		if errors.Is(err, queue.ErrOtherCluster) {
			return queue.Final(err)
		}
		return err
	})
}

// newDispatcher makes the dispatcher and starts those who tell about its reloads.
func (p *program) newDispatcher(cluster *kube.Cluster, ring *digest.Ring, dialects dialect.Set) (*dispatcher.Dispatcher, error) {
	s := p.settings
	tell := announcer{Announcer: kube.NewAnnouncer(cluster, p.registry)}
	p.start("announcer", tell.Run)
	if s.Notifications.URL != "" {
		alerts, err := notify.NewAlerts(notify.AlertOptions{
			URL: s.Notifications.URL, Sink: s.Notifications.Sink, Proxy: s.Notifications.Proxy, AdditionalInfo: s.Notifications.AdditionalInfo, Version: p.version,
		}, p.logger, p.registry)
		if err != nil {
			return nil, err
		}
		p.start("alerts", alerts.Run)
		tell.alerts = alerts
	}
	p.ledger = kube.NewLedger(cluster)
	o := dispatcher.Options{
		Cluster: s.ClusterName, Ring: ring, Dialects: dialects, Logger: p.logger, Registerer: p.registry,
		Ports: dispatcher.Ports{Configs: cluster, Workloads: cluster, Ledger: p.ledger, History: p.queue, Announcer: tell},
		Settings: dispatcher.Settings{
			Strategy: s.Reload.Strategy, Debounce: s.Debounce, Limits: s.RolloutLimits.Limits, SweepInterval: s.ResyncInterval, DryRun: s.DryRun, HashOnly: !s.Reload.ToolMarks,
			ReloadOnCreate: s.Reload.OnCreate, ReloadOnDelete: s.Reload.OnDelete, RolloutDeadline: s.RolloutLimits.Deadline,
			HaltOnFailedRollouts: s.RolloutLimits.HaltOnFailure, CountByNamespace: s.Metrics.CountByNamespace,
			Settle: s.HotReload.Settle, Exec: s.HotReload.Exec,
		},
	}
	if s.HotReload.Enabled {
		o.Pods, o.Caller = cluster, hot.New(p.version, cluster.Servers)
	}
	if p.member != nil {
		o.Copies = p.member
	}
	if s.Reload.WebhookURL != "" {
		hook, err := notify.NewWebhook(s.Reload.WebhookURL, p.version)
		if err != nil {
			return nil, fmt.Errorf("reload.webhookURL: %w", err)
		}
		o.Webhook = hook
	}
	return dispatcher.New(o), nil
}

// lead runs the dispatcher while this replica holds the Lease. A replica that loses it ends: the state that it has in memory is not to
// be trusted any more, and a new process loads it again.
func (p *program) lead(ctx context.Context, cluster *kube.Cluster, d *dispatcher.Dispatcher) error {
	return cluster.Lead(ctx, p.settings.Pod.Name, p.registry, func(ctx, term context.Context) error {
		if err := p.runDispatcher(ctx, term, cluster, d); err != nil {
			return err
		}
		return context.Cause(ctx)
	})
}

// jobsTick is how often Jobs that were left half recreated are tried again.
const jobsTick = time.Minute

// runDispatcher loads the state, watches the workloads, and then works on hints until ctx ends. Running work is finished, unless
// term ends.
func (p *program) runDispatcher(ctx, term context.Context, cluster *kube.Cluster, d *dispatcher.Dispatcher) error {
	if err := queue.Retry(ctx, p.logger, "state could not be loaded", func() error { return d.Load(ctx) }); err != nil {
		return nil
	}
	recoverJobs := func(ctx context.Context) {
		if p.settings.DryRun || slices.Contains(p.settings.Scope.IgnoredWorkloads(), workload.Job.Kind) {
			return
		}
		if err := cluster.RecoverJobs(ctx); err != nil && ctx.Err() == nil {
			p.logger.Warn("a Job is not recreated yet", "error", err)
		}
	}
	recoverJobs(ctx)
	p.watchControl(ctx, cluster)
	if err := cluster.Watch(ctx, d.Track, d.Forget); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	var hints sync.WaitGroup
	defer hints.Wait()
	hints.Go(func() { p.consume(ctx, d) })
	hints.Go(func() {
		if err := p.ledger.Watch(ctx); err != nil && ctx.Err() == nil {
			p.fail(err)
		}
	})
	hints.Go(func() { p.publishStatus(ctx, cluster, d) })
	hints.Go(func() { wait.UntilWithContext(ctx, recoverJobs, jobsTick) })
	hints.Go(func() { p.queue.KeepRecords(ctx, func() { p.storeAgain(ctx, cluster, d) }) })
	if p.settings.Watches() {
		hints.Go(func() { p.watchConfigs(ctx, cluster, d) })
	}
	if p.canary != nil {
		hints.Go(func() {
			if ready(ctx, d) { // from when its hints are consumed
				p.canary.Run(ctx)
			}
		})
	}
	if p.member != nil {
		hints.Go(func() { p.member.Run(ctx, hub.Following{Followed: d.Followed, Received: d.Receive, Wanted: d.Wanted}) })
	}
	return d.Run(ctx, term)
}

// storeAgain stores what NATS may have lost: the records of workloads, and the cluster behind its name.
func (p *program) storeAgain(ctx context.Context, cluster *kube.Cluster, d *dispatcher.Dispatcher) {
	d.StoreAgain()
	if err := p.bind(ctx, cluster); err != nil && ctx.Err() == nil {
		p.fail(err)
	}
}

// watchConfigs hands the writes that a watch sees to the dispatcher, once that is ready. They are not stored: a restart looks at every config.
func (p *program) watchConfigs(ctx context.Context, cluster *kube.Cluster, d *dispatcher.Dispatcher) {
	handle := p.handler(d)
	err := cluster.WatchConfigs(ctx, func(t kube.Touch) {
		if ready(ctx, d) && !p.ledger.Holds(t.Config) {
			handle(touched(t, p.settings.ClusterName, time.Now()))
		}
	})
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		p.fail(err)
		return
	}
	p.logger.Info("watching configs")
	p.watching.Store(true)
}

var errNotWatching = errors.New("configs are not watched yet")

const ingestLifetime = 90 * 24 * time.Hour

// consume feeds hints to the dispatcher once it is ready.
func (p *program) consume(ctx context.Context, d *dispatcher.Dispatcher) {
	if !ready(ctx, d) {
		return
	}
	handle := p.handler(d)
	_ = p.queue.ConsumeHints(ctx, p.settings.ClusterName, func(del queue.Delivery) { handle(del) }) // it lasts until the end
}

// ready waits until d is ready; false if ctx ends first.
func ready(ctx context.Context, d *dispatcher.Dispatcher) bool {
	for d.Ready() != nil {
		if !queue.Pause(ctx, 100*time.Millisecond) {
			return false
		}
	}
	return true
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
