package queue

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

	"github.com/reroll-dev/reroll/reloader"
)

// ForwardOptions say which cluster's records to bring to which hub.
type ForwardOptions struct {
	// Hub is the NATS of the hub: its URL, Login and InboxPrefix. The rest of it is not used: what the hub needs, others have made.
	Hub Options
	// Cluster is whose records are brought, and UID that of the cluster's namespace kube-system. It is required: the hub knows a cluster by it.
	Cluster, UID string
	// Logger gets what happens. Default slog.Default.
	Logger *slog.Logger
	// Registerer gets the metrics reroll_forward_*; nil means none.
	Registerer prometheus.Registerer
}

// Forwarder brings the changes, reloads and workload records of one cluster, and its status, from its queue to a hub. It promises:
//
//   - Once and in order. Each record that is retained when its turn comes is stored at the hub once, and those about one object in
//     the order in which they were stored here: each says where it comes from, and is only stored after the one that the hub was
//     seen to have last. So it may be killed or cut off at any moment, and two of them may run.
//   - Nothing is missing in silence. Records that are gone before they were brought, or with their stream, are a gap in the
//     status at the hub. Workload records are the exception: only the newest of each counts. So is what was stored before a hub that has
//     nothing yet was reached, and makes room for newer records until its turn has come.
//   - Nobody waits. It reads what is stored, and holds up nobody who stores.
//   - One name, one cluster. A hub that knows another cluster under the name gets nothing.
//
// How far it is, only the hub knows. A hub that has lost its memory gets everything anew, and one that was set back to an earlier state what
// it has forgotten.
type Forwarder struct {
	ForwardOptions
	q       *Queue
	metrics *forwardMetrics
	streams []*forwardStream

	mu sync.Mutex
	// status is the newest one; nil if there is none yet. news says that there is something to be told.
	status *reloader.ClusterStatus
	// state is what the hub has, or is about to get. A session begins with what the hub says.
	state reloader.Forwarding
	news  chan struct{}
	// lost has how far the hub really was where it turned out to lack what it was told to have.
	lost map[reloader.RecordKind]reloader.Position
	// copies are the newest for each place at the hub, unsent those that it may not have, and copyNews says that there are some.
	copies   map[string]reloader.Copy
	unsent   map[string]struct{}
	copyNews chan struct{}
	// heard is when the target of a copy last asked for something.
	heard map[string]time.Time
	// asked has the owners that were told what is followed here, and when that was last something.
	asked map[string]time.Time
	// sights are what was handed over of others' copies.
	sights *sights
	// mayNotLook says that it was refused to look at the other names in our NATS.
	mayNotLook atomic.Bool
	// away says that it was logged that the hub is away. Run alone uses it.
	away bool
}

// NewForwarder returns a Forwarder that does nothing yet.
func (q *Queue) NewForwarder(o ForwardOptions) (*Forwarder, error) {
	if err := reloader.ValidateCluster(o.Cluster); err != nil {
		return nil, fmt.Errorf("forward: %w", err)
	}
	if o.UID == "" {
		return nil, errors.New("forward: the UID of the namespace kube-system is needed, so that the hub can tell clusters apart")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Hub.Role, o.Hub.Logger, o.Hub.Registerer = RoleForward, o.Logger.With("part", "hub"), nil
	if _, err := o.Hub.withDefaults(); err != nil {
		return nil, err
	}
	m, err := newForwardMetrics(o.Registerer)
	if err != nil {
		return nil, err
	}
	f := &Forwarder{
		ForwardOptions: o, q: q, metrics: m, news: make(chan struct{}, 1), lost: map[reloader.RecordKind]reloader.Position{},
		copies: map[string]reloader.Copy{}, unsent: map[string]struct{}{}, copyNews: make(chan struct{}, 1), heard: map[string]time.Time{}, asked: map[string]time.Time{},
		sights: newSights(),
	}
	f.streams = []*forwardStream{
		{f: f, kind: reloader.ChangeRecords, name: changesStream, prefix: changePrefix, countsHoles: true},
		{f: f, kind: reloader.ReloadRecords, name: reloadsStream, prefix: reloadPrefix, countsHoles: true},
		{f: f, kind: reloader.WorkloadRecords, name: workloadsStream, prefix: workloadPrefix},
	}
	return f, nil
}

// PutStatus has s brought to the hub as soon as it is reached, in the place of any older one.
func (f *Forwarder) PutStatus(s reloader.ClusterStatus) {
	f.mu.Lock()
	f.status = &s
	f.mu.Unlock()
	f.hurry()
}

func (f *Forwarder) hurry() {
	select {
	case f.news <- struct{}{}:
	default: // one is due already
	}
}

// refusedWait is when a hub that knows another cluster under our name is asked again.
const refusedWait = 30 * time.Second

// Run brings records until ctx ends, and serves those who follow configs across clusters. Whatever is wrong with the hub is logged and
// tried again.
func (f *Forwarder) Run(ctx context.Context, to Following) error {
	defer f.metrics.unregister(f.Registerer)
	ctx, leave, err := f.q.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	wait := firstWait
	for {
		began := time.Now()
		err := f.attach(ctx, to)
		if ctx.Err() != nil {
			return ended(ctx)
		}
		if time.Since(began) > longestWait {
			wait = firstWait
		}
		wait = min(2*wait, longestForwardWait)
		switch {
		case errors.Is(err, ErrOtherCluster):
			f.Logger.Error("the hub refuses this cluster; nothing is forwarded", "cluster", f.Cluster, "error", err)
			wait = refusedWait
		case errors.Is(err, errForgotten):
			f.Logger.Warn("the hub has forgotten this cluster, and gets everything anew", "cluster", f.Cluster, "error", err)
		case errors.Is(err, errSetBack):
			f.Logger.Warn("the hub was set back, and gets again what it lacks", "cluster", f.Cluster, "error", err)
		case !f.away:
			f.Logger.Warn("forwarding was interrupted; it goes on when the hub is back", "hub", redacted(f.Hub.URL), "error", err)
		default:
			f.Logger.Debug("the hub is still away", "error", err)
		}
		f.away = true
		if !pause(ctx, wait) {
			return ended(ctx)
		}
	}
}

// longestForwardWait is how long after the hub is back it may take until it is tried again.
const longestForwardWait = 2 * time.Second

// attach reaches the hub, and works there until ctx ends; a connection that gets lost comes back by itself.
func (f *Forwarder) attach(ctx context.Context, to Following) error {
	q, err := Open(ctx, f.Hub)
	if err != nil {
		return err
	}
	defer func() { _ = q.giveUp(ctx) }() // nothing is on its way that would not come again
	h := newHub(q)
	if err := f.begin(ctx, h); err != nil {
		return err
	}
	f.metrics.up.Set(1)
	defer f.metrics.up.Set(0)
	f.away = false
	f.Logger.Info("forwarding to the hub", "cluster", f.Cluster, "hub", redacted(f.Hub.URL))
	all, ctx := errgroup.WithContext(ctx)
	for _, s := range f.streams {
		all.Go(func() error { return s.run(ctx, h) })
	}
	all.Go(func() error { return f.report(ctx, h) })
	if to.Followed != nil {
		all.Go(func() error { return f.apart(ctx, func() error { return f.send(ctx, h) }) })
		all.Go(func() error { return f.apart(ctx, func() error { return f.follow(ctx, h, to) }) })
	}
	f.hurry()
	return all.Wait()
}

// begin makes sure that the hub takes us for this cluster, and learns how far it is.
func (f *Forwarder) begin(ctx context.Context, h *hub) error {
	anew, err := h.bind(ctx, f.Cluster, f.UID)
	if err != nil {
		return err
	}
	last, err := h.status(ctx, f.Cluster)
	if err != nil {
		return fmt.Errorf("read how far the hub is: %w", err)
	}
	f.mu.Lock()
	f.state = reloader.Forwarding{}
	if last.Forward != nil && !anew { // anew it is of a cluster that was removed, and of its records nothing is left
		f.state = *last.Forward
	}
	f.recallAsked(time.Now())
	f.mu.Unlock()
	return f.withdraw(ctx, h)
}
