package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/reroll-dev/reroll/dispatcher/fleet"
	"github.com/reroll-dev/reroll/dispatcher/metrics"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
)

// Options configure a Dispatcher. Ports and Settings but for those that say so are required.
type Options struct {
	Cluster string
	Ports
	Ring     *digest.Ring
	Dialects dialect.Set
	Settings
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Ports are what a Dispatcher reads from and writes to.
type Ports struct {
	Configs   Configs
	Workloads Workloads
	Ledger    Ledger
	History   History
	Announcer Announcer
	// Webhook is called instead of rolling anything; nil rolls.
	Webhook Webhook
	// Pods and Caller reload workloads without a restart; nil restarts all. Caller is needed if Pods is there.
	Pods   Pods
	Caller Caller
	// Copies sends copies of configs to the clusters that follow them; nil without a hub.
	Copies fleet.Copies
}

// Settings are what an installation chooses.
type Settings struct {
	// Strategy marks workloads that do not choose one.
	Strategy string
	Debounce turn.Debounce
	Limits   turn.Limits
	// SweepInterval is how often every config is looked at although no hint came; 0 is at the start only.
	SweepInterval time.Duration
	// DryRun decides and records, and writes nothing to the cluster.
	DryRun bool
	// ReloadOnCreate rolls workloads that saw their config absent when it appears, ReloadOnDelete when it goes.
	ReloadOnCreate, ReloadOnDelete bool
	// HashOnly writes the hash of Reroll alone, and no mark of a tool.
	HashOnly bool
	// RolloutDeadline is how long a rollout may take whose controller sets no deadline itself; 0 is for ever.
	RolloutDeadline time.Duration
	// HaltOnFailedRollouts gives a change to one workload, then to a tenth of the others, then to the rest, each step when the rollouts of
	// the one before have ended; if one stalls, the rest is held.
	HaltOnFailedRollouts bool
	// Settle is how long a kubelet takes at most to refresh a volume: pods that reload without a restart are asked once more after it. It is at least some
	// seconds. Exec allows commands in pods.
	Settle time.Duration
	Exec   bool
	// CountByNamespace adds a metric with a series for each namespace with rolls.
	CountByNamespace bool
}

const (
	workers   = 32
	lookers   = 16
	recorders = 32
	resumers  = 8
)

// Dispatcher runs the line from hints to records for one cluster. Make it with New, feed it workloads with Track and Forget, call Run, and from
// Ready on feed it deliveries with Handle.
type Dispatcher struct {
	*common
	*memory
	*tracker
	*keeper
	*sweeper
	roller *roller
}

// New returns a Dispatcher that does nothing yet.
func New(o Options) *Dispatcher {
	shared := &common{Options: o, queues: newQueues()}
	shared.workers = newFair(workers, shared.workloadQ)
	known := newMemory(shared)
	looks := &looker{common: shared, memory: known}
	d := &Dispatcher{
		common: shared, memory: known,
		tracker: &tracker{shared, known},
		keeper:  &keeper{shared, known},
		sweeper: &sweeper{looker: looks, suspicion: make(chan string, 1)},
	}
	d.roller = &roller{shared, known, &decider{looks}, d.tracker, d.keeper}
	d.fleet = fleet.New(fleet.Options{Cluster: o.Cluster, Configs: own{looks}, Queue: d.exportQ, News: d.newsOf, Copies: o.Copies})
	snapshot := func(now time.Time) metrics.Snapshot { defer d.unlock(); return d.lock().snapshot(now) }
	d.metrics = metrics.New(metrics.Options{Registerer: o.Registerer, Snapshot: snapshot, SweepInterval: o.SweepInterval, CountByNamespace: o.CountByNamespace})
	return d
}

// Ready returns nil once every dependency has an entry in State, so that no later edit can be missed, by whichever process.
func (d *Dispatcher) Ready() error {
	if d.ready.Load() == nil {
		return errors.New("not every dependency has been looked at")
	}
	return nil
}

// Load reads the ledger, and what earlier processes recorded. It comes before the first Track.
func (d *Dispatcher) Load(ctx context.Context) error {
	entries, born, err := d.Ledger.Load(ctx)
	if err != nil {
		return fmt.Errorf("load the ledger: %w", err)
	}
	changes, err := d.History.LoadChanges(ctx, d.Cluster)
	if err != nil {
		return fmt.Errorf("load changes: %w", err)
	}
	recorded, err := d.History.LoadWorkloads(ctx, d.Cluster)
	if err != nil {
		return fmt.Errorf("load records of workloads: %w", err)
	}
	b := d.lock()
	defer d.unlock()
	b.states.texts, b.states.born = entries, born
	for c, stored := range changes {
		b.configs[c] = &entry{newest: newestOf(stored)}
	}
	for _, r := range recorded {
		b.records.earlier[r.Workload] = r
	}
	return nil
}

// Run works until ctx ends. The caller has tracked every workload that exists; Ready follows when all of their configs have been looked at.
//
// Once ctx has ended, nothing new starts: queues are dropped, since the next start computes them again. Running work is
// finished and recorded, for at most drainTime. When term ends, as with a lost leadership, that is cancelled, too: from then on
// nothing is written by this process.
func (d *Dispatcher) Run(ctx, term context.Context) error {
	working, release := context.WithCancel(term)
	defer release()

	b := d.lock()
	b.history.judged = time.Now()
	d.starting.Store(&lists{}) // before anything is looked at
	d.unlock()
	late := func(ref reloader.WorkloadRef) time.Duration {
		defer d.unlock()
		return d.lock().gate.late(ref, time.Now())
	}
	never := func(reloader.WorkloadRef) time.Duration { return 0 }
	var begin, settle sync.WaitGroup
	work(working, working, &settle, d.Logger, recorders, d.recordQ, d.store)
	work(working, working, &settle, d.Logger, 1, d.changeQ, d.storeChanges)
	work(working, working, &settle, d.Logger, 2, d.ledgerQ, d.keepStates)
	work(working, ctx, &begin, d.Logger, workers, d.workloadQ, d.workers.among(d.roller.attend, late))
	work(working, ctx, &begin, d.Logger, resumers, d.owedQ, newFair(resumers, d.owedQ).among(d.pay, never))
	work(working, ctx, &begin, d.Logger, resumers, d.exportQ, func(ctx context.Context, c reloader.Config) (time.Duration, error) { return 0, d.fleet.Export(ctx, c) })
	work(working, ctx, &begin, d.Logger, lookers, d.configQ, d.verify)

	if d.first(ctx) == nil {
		d.forgetUnseen()
		now := time.Now()
		d.ready.Store(&now)
		d.Logger.Info("ready", "cluster", d.Cluster, "workloads", d.Status().Workloads)
		d.keep(ctx)
	}
	d.ready.Store(nil)
	// A call to a lost API server or NATS must not block the end; the next start computes unfinished work again.
	stop := time.AfterFunc(drainTime, release)
	defer stop.Stop()
	for _, q := range []interface{ ShutDown() }{d.workloadQ, d.owedQ, d.exportQ, d.configQ} {
		q.ShutDown() // its workers end when it is empty
	}
	begin.Wait()
	d.storeRest()
	for _, q := range []interface{ ShutDown() }{d.recordQ, d.changeQ, d.ledgerQ} {
		q.ShutDown()
	}
	settle.Wait()
	return nil
}

const drainTime = 15 * time.Second

// keep sweeps, and forgets what is no longer needed, until ctx ends.
func (d *Dispatcher) keep(ctx context.Context) {
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	sweeping.Go(func() { d.sweep(ctx) })
	wait.UntilWithContext(ctx, func(context.Context) {
		d.forgetUnseen()
		b := d.lock()
		defer d.unlock()
		b.trim()
		b.history.judge(b.configs, time.Now())
	}, time.Minute)
}

// SetControl tells the dispatcher what those who run the cluster want held back.
func (d *Dispatcher) SetControl(c control.Control) {
	if c.Problem != "" {
		d.Logger.Warn("faulty control", "problem", c.Problem)
	}
	d.lock().gate.obey(c, time.Now())
	d.unlock()
}
