package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// Options say which cluster's records go to which hub.
type Options struct {
	// Hub has the URL and Login of the hub's NATS.
	Hub queue.Options
	// Cluster is the name of the cluster and of its account at the hub, and UID that of its namespace kube-system, by which the hub knows it.
	Cluster, UID string
	Logger       *slog.Logger
	// Registerer gets the metrics reroll_forward_*; nil means none.
	Registerer prometheus.Registerer
}

// Member is a cluster of a hub. Make one with New.
type Member struct {
	Options
	local   *queue.Queue
	metrics *metrics

	mu sync.Mutex // guards unsent
	// unsent are the copies to send, by subject.
	unsent map[string]reloader.Copy
	// news holds a value when there are some.
	news chan struct{}
}

// New returns a Member that does nothing yet.
func New(local *queue.Queue, o Options) (*Member, error) {
	if err := reloader.ValidateCluster(o.Cluster); err != nil {
		return nil, fmt.Errorf("forward: %w", err)
	}
	if o.UID == "" {
		return nil, errors.New("forwarding needs the UID of the namespace kube-system, by which the hub knows a cluster")
	}
	o.Hub.Name, o.Hub.Logger = "reroll-"+o.Cluster, o.Logger.With("part", "hub")
	if err := o.Hub.Validate(); err != nil {
		return nil, err
	}
	return &Member{Options: o, local: local, metrics: newMetrics(o.Registerer), unsent: map[string]reloader.Copy{}, news: make(chan struct{}, 1)}, nil
}

// Run forwards records and serves those who follow configs, until ctx ends. Whatever is wrong with the hub is logged and tried again.
func (m *Member) Run(ctx context.Context, to Following) {
	c, err := m.connect(ctx)
	if err != nil {
		return // ctx has ended
	}
	defer func() { _ = c.Close(ctx) }() // what is under way comes again
	m.Logger.Info("connected to the hub", "cluster", m.Cluster, "hub", queue.Redacted(m.Hub.URL))
	all, ctx := errgroup.WithContext(ctx)
	for _, s := range sources {
		all.Go(func() error { return m.forward(ctx, &natsHub{c, m.Cluster}, s) })
	}
	if to.Followed != nil {
		all.Go(func() error { return m.follow(ctx, c, to) })
	}
	_ = all.Wait() // they end with ctx
}

// connect tries until it succeeds or ctx ends. From then on the connection comes back by itself.
func (m *Member) connect(ctx context.Context) (c *queue.Conn, err error) {
	err = m.retry(ctx, "the hub cannot be reached; trying again", func() (err error) {
		c, err = queue.Dial(m.Hub)
		return err
	})
	return c, err
}

// retry calls f until it returns nil, or fails when ctx ends.
func (m *Member) retry(ctx context.Context, message string, f func() error) error {
	for failures := 1; ; failures++ {
		err := f()
		if err == nil {
			return nil
		}
		m.log(failures, message, err)
		if !pause(ctx, backOff(failures)) {
			return ctx.Err()
		}
	}
}

// log warns of the first failure in a row, and of further ones now and then.
func (m *Member) log(failures int, message string, err error, more ...any) {
	level := slog.LevelDebug
	if failures%100 == 1 {
		level = slog.LevelWarn
	}
	m.Logger.Log(context.Background(), level, message, append(more, "hub", queue.Redacted(m.Hub.URL), "error", err)...)
}

// longestWait is how long after the hub is back it may take until it is tried again.
const longestWait = 2 * time.Second

// backOff returns how long to wait after a number of failures in a row.
func backOff(failures int) time.Duration {
	return jitter(min(longestWait, 100*time.Millisecond<<min(failures, 5)))
}

// jitter returns between half of d and d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2) }

// pause waits, and reports whether it did so to the end.
func pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}
