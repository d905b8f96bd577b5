package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Options configure a Dispatcher. All fields but the last group are required.
type Options struct {
	Cluster   string
	Configs   Configs
	Workloads Workloads
	Announcer Announcer
	Changes   Changes
	Records   Records
	Hints     Hints
	Ring      *digest.Ring
	Dialects  dialect.Set
	// Strategy is the strategy of workloads that do not choose one.
	Strategy   string
	Logger     *slog.Logger
	Registerer prometheus.Registerer

	// SweepInterval is how often every config is looked at although no hint came; 0 is at the start only.
	SweepInterval time.Duration
	// Window is how long a workload must see no further change before it is rolled, and MaxWait bounds the whole wait. 0 is at once.
	Window, MaxWait time.Duration
	// DryRun decides and records, and writes nothing to the cluster.
	DryRun bool
	// ReloadOnCreate rolls workloads that saw their config absent when it appears, ReloadOnDelete when it goes.
	ReloadOnCreate, ReloadOnDelete bool
	// RolloutDeadline is how long a rollout may take whose controller sets no deadline itself; 0 is for ever.
	RolloutDeadline time.Duration
	// HaltOnFailedRollouts gives a change to one workload, then to a tenth of the others, then to the rest, each step when the rollouts of
	// the one before have ended; if one stalls, the rest is held.
	HaltOnFailedRollouts bool
	// Brakes hold back workloads that are due.
	Brakes Brakes
	// Webhook is called instead of rolling anything; nil rolls.
	Webhook Webhook
	// Copies sends copies of configs to the clusters that follow them; nil if there is no hub.
	Copies Copies
	// CountByNamespace adds a metric with a series for each namespace in which something is rolled.
	CountByNamespace bool
	// Flushers is how many workloads are patched at once; 32 if zero.
	Flushers int
}

const (
	defaultFlushers = 32
	verifiers       = 16
	settlers        = 64
	resumers        = 8
)

// Dispatcher runs the line from hints to records for one cluster. Make it with New, feed it workloads with Track and Forget,
// call Run, and from Ready on feed it deliveries with Handle.
type Dispatcher struct {
	Options
	metrics  *metrics
	stakater *stakaterMetrics
	plans    plans
	ready    atomic.Bool

	mu sync.Mutex // guards all below, and the fields of every tracked workload
	// index finds the workloads that may depend on a config.
	index *index
	// latest has the newest change of every config that some workload depends on.
	latest map[reloader.Config]reloader.StoredChange
	// facts has what the last read of each such config said.
	facts map[reloader.Config]fact
	// told has the requests that looks at a config have answered.
	told tolds
	// drifts has, by config, the changes that were found without a hint and are to be judged, and whether a hint has told of them since.
	drifts map[reloader.Config]map[drift]bool
	// takenBack has the configs of which a change was made known and could not be stored.
	takenBack map[reloader.Config]struct{}
	// began is when this process began.
	began time.Time
	// parked has the deliveries that wait for their config to be verified.
	parked map[reloader.Config][]Delivery
	// overheard has the hints that are looked into before they come by the stream, answered when each of them was, and relook when a
	// config is to be looked at once more.
	overheard map[reloader.Config][]reloader.Hint
	answered  map[utterance]time.Time
	relook    map[reloader.Config]time.Time
	// succeeded says, by stage, whether an attempt at some workload has.
	succeeded [stages]bool
	// lookFailures is how often in a row looks have failed at a config that hints are about.
	lookFailures map[reloader.Config]int
	// unsure is when each of the hints comes again that wait in the stream for another look.
	unsure []time.Time
	// verifying has the configs whose deliveries are being answered.
	verifying map[reloader.Config]struct{}
	// finished has the reloads that are not recorded yet. They outlive their workload.
	finished map[reloader.WorkloadRef][]finished
	// underWay is how many workloads are being rolled, and late has those whose records make way for that, and since when.
	underWay int
	late     map[reloader.WorkloadRef]time.Time
	// records has what an earlier process recorded about workloads that have not been seen yet in this one.
	records map[reloader.WorkloadRef]reloader.WorkloadRecord
	// paused has the workloads whose rollout is held back until their pause period ends, opted in or not.
	paused map[reloader.WorkloadRef]*workload.Workload
	// abandoned are those of paused that are no business of ours any more: their pause ends now, since a later process will not see it.
	abandoned map[reloader.WorkloadRef]bool
	// unreadable says why a config that somebody needs cannot be read.
	unreadable map[reloader.Config]string
	// denials has the configs whose latest change nobody else may be given for now.
	denials map[reloader.Config]denial
	// copies are the newest of each config of another cluster that is followed, and exports the configs that other clusters follow here.
	copies  map[reloader.Config]received
	exports map[reloader.Config]*exported
	// askers limits, for each cluster that asks for configs of this one, how often they are looked at for it.
	askers map[string]*rate.Limiter
	// follows has the number of each config of another cluster that is asked for.
	follows map[reloader.Config]uint64
	// unasked are the configs of other clusters that are followed beyond reloader.MaxWanted.
	unasked map[reloader.Config]struct{}
	// control is what those who run the cluster want held back, and limiters how fast the rest goes.
	control  control.Control
	limiters limiters

	looks *flight
	// tellings has the configs of which other clusters are being told.
	tellings *flight
	queues

	// suspicion has the reason for a sweep of everything.
	suspicion chan string
	// starting has what is listed once while the process starts; nil otherwise.
	starting atomic.Pointer[map[scope]*list]
	// covered is what sweeps could look at.
	covered *coverage
}

// New returns a Dispatcher that does nothing yet.
func New(o Options) *Dispatcher {
	if o.Flushers <= 0 {
		o.Flushers = defaultFlushers
	}
	if o.MaxWait < o.Window {
		o.MaxWait = o.Window
	}
	d := &Dispatcher{
		Options:      o,
		stakater:     newStakaterMetrics(o.Registerer, o.CountByNamespace),
		plans:        plans{of: map[reloader.WorkloadRef]*dialect.Plan{}},
		index:        newIndex(),
		latest:       map[reloader.Config]reloader.StoredChange{},
		facts:        map[reloader.Config]fact{},
		told:         tolds{},
		drifts:       map[reloader.Config]map[drift]bool{},
		takenBack:    map[reloader.Config]struct{}{},
		began:        time.Now(),
		parked:       map[reloader.Config][]Delivery{},
		verifying:    map[reloader.Config]struct{}{},
		overheard:    map[reloader.Config][]reloader.Hint{},
		answered:     map[utterance]time.Time{},
		relook:       map[reloader.Config]time.Time{},
		lookFailures: map[reloader.Config]int{},
		finished:     map[reloader.WorkloadRef][]finished{},
		late:         map[reloader.WorkloadRef]time.Time{},
		records:      map[reloader.WorkloadRef]reloader.WorkloadRecord{},
		paused:       map[reloader.WorkloadRef]*workload.Workload{},
		abandoned:    map[reloader.WorkloadRef]bool{},
		unreadable:   map[reloader.Config]string{},
		denials:      map[reloader.Config]denial{},

		copies:   map[reloader.Config]received{},
		exports:  map[reloader.Config]*exported{},
		askers:   map[string]*rate.Limiter{},
		looks:    newFlight(),
		tellings: newFlight(),
		queues:   newQueues(),
		limiters: limiters{perMinute(o.Brakes.PerMinute), map[string]*rate.Limiter{}},

		suspicion: make(chan string, 1),
		covered:   newCoverage(),
	}
	d.metrics = newMetrics(o.Registerer, d)
	return d
}

// Ready returns nil once every edge has a baseline on record, so that no later edit can be missed, by whoever is there to see it.
func (d *Dispatcher) Ready() error {
	if !d.ready.Load() {
		return errors.New("baselines are not complete")
	}
	return nil
}

// Load reads the state that earlier processes left. It comes before the first Track.
func (d *Dispatcher) Load(ctx context.Context) error {
	latest, err := d.Changes.LoadChanges(ctx, d.Cluster)
	if err != nil {
		return fmt.Errorf("load changes: %w", err)
	}
	records, err := d.Records.LoadWorkloads(ctx, d.Cluster)
	if err != nil {
		return fmt.Errorf("load workload records: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.latest = latest
	for _, r := range records {
		d.records[r.Workload] = r
	}
	return nil
}

// Run works until ctx ends, and sweeps once at start, when the caller has tracked every workload that exists; Ready follows the sweep.
//
// Once ctx has ended, nothing is begun any more: what waits in queues is dropped, since it is pending at the next start. What has begun is
// finished and recorded, for at most drainTime. When term ends, as with a lost leadership, that is cancelled, too: from then on
// nothing is written by this process.
func (d *Dispatcher) Run(ctx, term context.Context) error {
	working, release := context.WithCancel(term)
	defer release()

	d.replay(time.Now())
	lists := d.lists()
	d.starting.Store(&lists)
	var begin, settle errgroup.Group
	work(working, &settle, settlers, d.settleQ, func(ref reloader.WorkloadRef) time.Duration { return d.settle(working, ref) })
	flush := func(ref reloader.WorkloadRef) time.Duration { return d.flush(working, ref) }
	resume := func(ref reloader.WorkloadRef) time.Duration { return d.resume(working, ref) }
	work(ctx, &begin, d.Flushers, d.flushQ, newFair(d.Flushers, d.flushQ, d.sayLate).among(flush))
	work(ctx, &begin, resumers, d.resumeQ, newFair(resumers, d.resumeQ, func(reloader.WorkloadRef) {}).among(resume))
	work(ctx, &begin, 1, d.rolloutQ, d.rolloutDue)
	work(ctx, &begin, verifiers, d.edgesQ, func(ref reloader.WorkloadRef) time.Duration { return d.edges(working, ref) })
	work(ctx, &begin, 1, d.driftQ, func(found drift) time.Duration { return d.judgeDrift(working, found) })
	work(ctx, &begin, 1, d.sweepQ, func(s scope) time.Duration { return d.sweepAgain(working, s) })
	work(ctx, &begin, 1, d.lookQ, func(c reloader.Config) time.Duration { return d.lookAtAgain(working, c) })
	work(ctx, &begin, resumers, d.exportQ, func(c reloader.Config) time.Duration { return d.export(working, c) })
	work(ctx, &begin, verifiers, d.verifyQ, func(c reloader.Config) time.Duration { return d.verify(working, c) })

	err := d.sweep(ctx)
	d.starting.Store(nil)
	if err == nil {
		d.forgetUnseen()
		d.ready.Store(true)
		d.Logger.Info("ready", "cluster", d.Cluster, "workloads", len(d.index.refs(&d.mu)))
		d.keep(ctx)
	}
	d.ready.Store(false)
	// A call to a lost API server or NATS must not hold up the end for ever; what it leaves undone is pending at the next start.
	stop := time.AfterFunc(drainTime, release)
	defer stop.Stop()
	d.takeNoMore()
	_ = begin.Wait()
	d.settleRest()
	d.settleQ.ShutDown()
	return settle.Wait()
}

// keep sweeps, and keeps the memory of configs that nobody depends on bounded, until ctx ends.
func (d *Dispatcher) keep(ctx context.Context) {
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	sweeping.Go(func() { d.keepSweeping(ctx) })
	d.trim()
	d.Followed()
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.trim()
			d.forgetUnseen()
			d.Followed() // this cluster is asked for its own, whether it has a hub or not
		}
	}
}

const drainTime = 15 * time.Second
