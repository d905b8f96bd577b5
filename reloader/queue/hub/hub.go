package hub

import (
	"context"
	"log/slog"
	"sync"

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
func New(local *queue.Queue, o Options) *Member {
	o.Hub.Name, o.Hub.Logger = "reroll-"+o.Cluster, o.Logger.With("part", "hub")
	o.Logger = o.Logger.With("hub", queue.Redacted(o.Hub.URL))
	return &Member{Options: o, local: local, metrics: newMetrics(o.Registerer), unsent: map[string]reloader.Copy{}, news: make(chan struct{}, 1)}
}

// Run connects once, since the connection then comes back by itself, forwards records and serves those who follow configs, until ctx ends. Whatever is wrong with the hub is logged and tried again.
func (m *Member) Run(ctx context.Context, to Following) {
	var c *queue.Conn
	if err := queue.Retry(ctx, m.Logger, "the hub cannot be reached; trying again", func() (err error) {
		c, err = queue.Dial(m.Hub)
		return err
	}); err != nil {
		return // ctx has ended
	}
	defer func() { _ = c.Close(ctx) }() // what is under way comes again
	m.Logger.Info("connected to the hub", "cluster", m.Cluster)
	all, ctx := errgroup.WithContext(ctx)
	for _, s := range sources {
		all.Go(func() error { return m.forward(ctx, &natsHub{c, m.Cluster}, s) })
	}
	if to.Followed != nil {
		all.Go(func() error { return m.follow(ctx, c, to) })
	}
	_ = all.Wait() // they end with ctx
}
