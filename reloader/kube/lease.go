package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// LeaseName is the Lease that Stakater Reloader uses as well: neither works while the other leads.
const LeaseName = "stakater-reloader-lock"

const (
	// leaseDuration is how long a candidate waits after the last renewal that it saw.
	leaseDuration = 15 * time.Second
	// renewDeadline is how long a leader works after its last renewal.
	renewDeadline = 10 * time.Second
	// leaseRetry is the shortest pause between two tries; the longest is 2.2 times that. A candidate may see the last renewal one pause late
	// and its end another one late: within 20 s after a kill another process leads.
	leaseRetry = time.Second
)

// ErrLeadershipLost is the cause with which the context of a term ends if the Lease could not be renewed in time.
var ErrLeadershipLost = errors.New("leadership lost")

// Lead waits until this process holds the Lease LeaseName in Reroll's own namespace, or ctx ends, and runs run while it does. It returns what run
// returns; nil if ctx ended before. The identity must differ from that of every other candidate, also of earlier processes.
//
// Run gets two contexts. The first says when to begin nothing new: it ends with ctx, or when the leadership is lost. The second, term, says
// how long something may still be written: it ends when the leadership is lost, and not with ctx.
//
// The leadership is lost, with ErrLeadershipLost as the cause, when the Lease is seen in other hands, or 10 s after its last renewal: another
// process can lead 5 s later. From the same moment on no write is sent to the API server but those of the Lease. The clock decides that at
// each request, so that a process that was paused sends none. A process that has lost the leadership should end: Lead stands for one term.
//
// After ctx ends the Lease is renewed until run has returned, and then released: another candidate leads within 3 s. A dry run needs no Lease.
func (c *Cluster) Lead(ctx context.Context, identity string, r prometheus.Registerer, run func(ctx, term context.Context) error) error {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "reroll_leader", Help: "1 while this process leads, otherwise 0."}, func() float64 {
		if c.Leading() {
			return 1
		}
		return 0
	}))
	term, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(nil)
	begin, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if c.options.DryRun {
		c.term.Store(&begin)
		return run(begin, term)
	}
	lock := &datedLock{
		Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: c.Namespace, Name: LeaseName},
			Client:     c.vital.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		fence: &c.fence,
		lose:  func() { lose(ErrLeadershipLost); stop(ErrLeadershipLost) },
	}
	elected, stopped := make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: leaseRetry, ReleaseOnCancel: true, Name: lock.Describe(),
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { close(elected) }, OnStoppedLeading: lock.lose},
	})
	if err != nil {
		return fmt.Errorf("lease %s: %w", lock.Describe(), err)
	}
	electing, release := context.WithCancel(context.WithoutCancel(ctx)) // the elector outlives ctx
	go func() { defer close(stopped); elector.Run(electing) }()
	defer func() { release(); <-stopped }()
	select {
	case <-ctx.Done():
		return nil
	case <-elected:
	}
	c.term.Store(&begin)
	defer stop(nil) // before the release
	return run(begin, term)
}

// Leading reports whether this process leads, and its work has not been asked to end.
func (c *Cluster) Leading() bool {
	term := c.term.Load()
	return term != nil && (*term).Err() == nil
}

// datedLock is a lock that ends the term if it is not renewed in time, or is in other hands. The time counts from when the last renewal was
// asked for: neither a slow answer nor a pause of the process makes a term longer. The elector calls one method at a time.
type datedLock struct {
	resourcelock.Interface
	fence *fence
	lose  func()
	// watchdog calls lose; nil before the term.
	watchdog *time.Timer
	// holder was seen last.
	holder string
}

// Get reads the Lease. A new holder is believed at once: the elector would try to renew for the rest of its time.
func (l *datedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err != nil {
		return record, raw, err
	}
	if l.holder = record.HolderIdentity; l.watchdog != nil && l.holder != l.Identity() {
		l.fence.closeAt(time.Now())
		l.lose()
	}
	return record, raw, nil
}

// Create creates the Lease, and begins the term.
func (l *datedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.renew(func() error { return l.Interface.Create(ctx, record) })
}

// Update writes the Lease and begins or continues the term, or releases it. The elector does not look who holds what it releases.
func (l *datedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity != "" {
		return l.renew(func() error { return l.Interface.Update(ctx, record) })
	}
	if l.holder != l.Identity() {
		return nil
	}
	return l.Interface.Update(ctx, record)
}

func (l *datedLock) renew(write func() error) error {
	ends := time.Now().Add(renewDeadline)
	if err := write(); err != nil {
		return err
	}
	if l.watchdog == nil {
		l.watchdog = time.AfterFunc(time.Until(ends), l.lose)
	}
	l.watchdog.Reset(time.Until(ends))
	l.fence.closeAt(ends)
	return nil
}
