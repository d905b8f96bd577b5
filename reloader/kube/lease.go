package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
)

// LeaseName is the Lease that Stakater Reloader uses as well: neither works while the other leads.
const LeaseName = "stakater-reloader-lock"

const (
	// leaseDuration is how long a candidate waits after the last renewal that it saw.
	leaseDuration = 15 * time.Second
	// renewDeadline is how long after its last renewal a leader works on. What is left of the lease is for it to stop.
	renewDeadline = 10 * time.Second
	// leaseRetry is the shortest pause between two tries; the longest is 2.2 times that. A candidate may see the last renewal one pause
	// late and its end another one late, so that 20 s after a kill somebody else leads.
	leaseRetry = time.Second
)

// ErrLeadershipLost is the cause with which the context of a term ends if the Lease could not be renewed in time.
var ErrLeadershipLost = errors.New("leadership lost")

// LeaseOptions name a Lease and one candidate for it.
type LeaseOptions struct {
	// Namespace and Name are the Lease's. Empty: Reroll's own namespace, and LeaseName.
	Namespace, Name string
	// Identity tells this process from all other candidates, also from those before it.
	Identity string
	// Logger is told when a term begins and ends, and why the Lease cannot be read or written. Nil: nobody is.
	Logger *slog.Logger
	// Registerer gets the gauge reroll_leader, 1 while this process leads. Nil: there is none.
	Registerer prometheus.Registerer
}

// Lead stands for the leadership of a Lease until ctx ends, and calls run for each term, which it works through while this process
// leads. Run gets two contexts. The first one says when to begin nothing new: it ends when ctx does, or when the leadership is lost. The
// second one, term, says how long something may still be written: it ends when the leadership is lost, and not with ctx.
//
// The leadership is lost, with ErrLeadershipLost as the cause, as soon as the Lease was seen in somebody else's hands, and once it was not
// renewed for 10 s: another process can lead 5 s after that. From the same moment on the API server is sent no write any more,
// other than those of the Lease: that is decided by the clock at each request, so that a process which was paused sends none before it has
// noticed.
//
// When ctx ends, or run returns by itself, the Lease is renewed until run has returned and then given up, so that another candidate
// leads within 3 s. After a kill, one does within 20 s.
//
// Lead returns what run returns, with one exception: after a lost leadership, a run that returns nil or its context's error lets Lead
// stand again. A process that would rather end has run return context.Cause of its context.
//
// A dry run writes no Lease, and need not wait for one: run is called at once.
func (c *Cluster) Lead(ctx context.Context, o LeaseOptions, run func(ctx, term context.Context) error) error {
	o.Namespace, o.Name = firstOf(o.Namespace, c.Namespace), firstOf(o.Name, LeaseName)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := c.showLeading(o.Registerer); err != nil {
		return err
	}
	if c.options.DryRun {
		return c.work(ctx, context.WithoutCancel(ctx), run)
	}
	for ctx.Err() == nil {
		if again, err := c.stand(ctx, o, run); !again {
			return err
		}
	}
	return nil
}

// Leading reports whether this process leads, and its work has not been told to end.
func (c *Cluster) Leading() bool {
	term := c.term.Load()
	return term != nil && (*term).Err() == nil
}

// showLeading registers the gauge, unless Lead was called before.
func (c *Cluster) showLeading(r prometheus.Registerer) error {
	if r == nil {
		return nil
	}
	err := r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "reroll_leader", Help: "1 while this process leads, 0 while another one does or nobody.",
	}, func() float64 {
		if c.Leading() {
			return 1
		}
		return 0
	}))
	if errors.As(err, &prometheus.AlreadyRegisteredError{}) {
		return nil
	}
	return err
}

// work calls run, and leads until ctx ends or run does.
func (c *Cluster) work(ctx, term context.Context, run func(ctx, term context.Context) error) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	c.term.Store(&ctx)
	return run(ctx, term)
}

// stand waits for one term and works through it. It reports whether the leadership was lost and run wants another one.
func (c *Cluster) stand(ctx context.Context, o LeaseOptions, run func(ctx, term context.Context) error) (again bool, err error) {
	term, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(nil)
	begin, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	e, err := c.newElection(o, func() { lose(ErrLeadershipLost); stop(ErrLeadershipLost) })
	if err != nil {
		return false, err
	}
	e.start(ctx)
	defer e.end(ctx, o.Logger)
	select {
	case <-ctx.Done():
		return false, nil
	case <-e.won:
	}
	o.Logger.Info("leading", "lease", e.lock.Describe(), "identity", o.Identity)
	err = c.work(begin, term, run)
	lost := ctx.Err() == nil && errors.Is(context.Cause(term), ErrLeadershipLost)
	o.Logger.Info("no longer leading", "lease", e.lock.Describe(), "identity", o.Identity, "lost", lost)
	return lost && (err == nil || errors.Is(err, context.Canceled)), err
}

// election is one candidacy, from the first try to the end of the term.
type election struct {
	lock    *watchedLock
	elector *leaderelection.LeaderElector
	// won is closed when the term begins, stopped when the elector has stopped.
	won, stopped chan struct{}
	stop         context.CancelFunc
}

// newElection returns an election that calls lose, maybe more than once, when the leadership is lost or the election has ended.
func (c *Cluster) newElection(o LeaseOptions, lose func()) (*election, error) {
	e := &election{won: make(chan struct{}), stopped: make(chan struct{})}
	e.lock = newWatchedLock(&resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
		Client:     c.vital.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
	}, o.Logger, &c.fence, lose)
	began := func(led context.Context) {
		close(e.won)
		<-led.Done()
		lose()
	}
	// The elector's own release comes before the work has ended, and while a lost API server keeps it waiting, nobody tells the work.
	var err error
	e.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: e.lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: leaseRetry, Name: o.Name,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: began, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return nil, fmt.Errorf("stand for lease %s: %w", e.lock.Describe(), err)
	}
	return e, nil
}

// start lets the elector run until end, also when ctx ends before. What it would log, the lock logs in our way.
func (e *election) start(ctx context.Context) {
	ctx, e.stop = context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), klog.Logger{}))
	go func() {
		defer close(e.stopped)
		e.elector.Run(ctx)
	}()
}

// end stops the elector and gives the Lease up if it is ours. The work has ended before.
func (e *election) end(ctx context.Context, logger *slog.Logger) {
	e.stop()
	<-e.stopped
	e.lock.watchdog.Stop()
	if !e.elector.IsLeader() {
		return
	}
	e.lock.fence.open() // the work has ended in order: what is still told of it is true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), vitalTime)
	defer cancel()
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return e.lock.release(ctx) }); err != nil {
		logger.Info("lease was not given up", "lease", e.lock.Describe(), "error", err)
	}
}

// watchedLock is a lock that ends the term if it is not renewed in time, or is somebody else's. The time is counted by a timer from when the
// last renewal was asked for: neither a slow answer nor a pause of the whole process makes it longer.
type watchedLock struct {
	resourcelock.Interface
	watchdog *time.Timer
	fence    *fence
	lose     func()
	logger   *slog.Logger
	// held says that a term has begun. The elector calls one method at a time.
	held    bool
	failing bool
}

func newWatchedLock(lock resourcelock.Interface, logger *slog.Logger, f *fence, lose func()) *watchedLock {
	watchdog := time.AfterFunc(renewDeadline, lose)
	watchdog.Stop()
	return &watchedLock{Interface: lock, watchdog: watchdog, fence: f, lose: lose, logger: logger}
}

// Get reads the Lease. Who holds it now is believed at once: the elector itself would try to renew for the rest of its time.
func (l *watchedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	l.note(err)
	if err == nil && l.held && record.HolderIdentity != l.Identity() {
		l.fence.close()
		l.lose()
	}
	return record, raw, err
}

// Create makes the Lease, and begins a term.
func (l *watchedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.renew(func() error { return l.Interface.Create(ctx, record) })
}

// Update writes the Lease, and begins a term or goes on with it.
func (l *watchedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.renew(func() error { return l.Interface.Update(ctx, record) })
}

func (l *watchedLock) renew(write func() error) error {
	asked := time.Now()
	err := write()
	l.note(err)
	if err == nil {
		l.held = true
		l.fence.closeAt(asked.Add(renewDeadline))
		l.watchdog.Reset(time.Until(asked.Add(renewDeadline)))
	}
	return err
}

// note logs the first of several failures. That there is no Lease yet, or that another candidate was faster, is none.
func (l *watchedLock) note(err error) {
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		l.failing = false
		return
	}
	if !l.failing && !errors.Is(err, context.Canceled) {
		l.logger.Warn("lease cannot be read or written", "lease", l.Describe(), "error", err)
	}
	l.failing = true
}

// release writes into the Lease that nobody holds it, if this candidate does.
func (l *watchedLock) release(ctx context.Context) error {
	record, _, err := l.Interface.Get(ctx)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if record.HolderIdentity != l.Identity() {
		return nil
	}
	now := metav1.Now()
	return l.Interface.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaseDurationSeconds: 1, AcquireTime: now, RenewTime: now, LeaderTransitions: record.LeaderTransitions,
	})
}
