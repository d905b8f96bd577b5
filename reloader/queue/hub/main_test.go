package hub_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
	"github.com/reroll-dev/reroll/tests/natsserver"
	"github.com/reroll-dev/reroll/tests/poll"
)

var (
	quiet = slog.New(slog.DiscardHandler)
	epoch = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	flags = reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "flags.v2"}
	web   = reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "web"}
)

// local opens the queue of a cluster in a folder.
func local(t *testing.T, dir string) *queue.Queue {
	t.Helper()
	q, err := queue.Open(t.Context(), queue.Options{StoreDir: dir, MaxStore: 64 << 20, Logger: quiet})
	must(t, err)
	t.Cleanup(func() { closeQueue(t, q) })
	return q
}

func closeQueue(t *testing.T, q *queue.Queue) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := q.Close(ctx); err != nil {
		t.Error(err)
	}
}

// member runs a member of a hub until the returned function is called.
func member(t *testing.T, q *queue.Queue, url, cluster, uid string, to hub.Following) (*hub.Member, func()) {
	t.Helper()
	m := hub.New(q, hub.Options{Hub: natsserver.Login(t, url, cluster), Cluster: cluster, UID: uid, Logger: quiet})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { m.Run(ctx, to) })
	end := sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(end)
	return m, end
}

func change(cluster string, n int) reloader.Change {
	c := reloader.Change{
		Cluster: cluster, Config: flags, Type: reloader.ChangeUpdated, VerifiedAt: epoch.Add(time.Duration(n) * time.Second),
		New: reloader.Digest{KeyID: "k", Sum: fmt.Sprintf("%064d", n)},
	}
	c.Config.Name = fmt.Sprintf("config-%d", n)
	c.ID = reloader.ChangeID(c)
	return c
}

func appendChanges(t *testing.T, q *queue.Queue, cluster string, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		must(t, q.AppendChange(t.Context(), change(cluster, n)))
	}
}

// atHub reads a hub as its API does.
type atHub struct {
	mu        sync.Mutex
	changes   []string
	workloads map[string]bool
	positions map[string]reloader.Position
	statuses  map[string]reloader.ClusterStatus
	resets    int
}

func follow(t *testing.T, url string) *atHub {
	t.Helper()
	o := natsserver.Login(t, url, natsserver.HubUser)
	o.Streams, o.Logger = []string{queue.HistoryStream, queue.StateStream}, quiet
	q, err := queue.Open(t.Context(), o)
	must(t, err)
	h := &atHub{}
	h.reset()
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		done <- q.Follow(ctx, queue.Follower{Event: h.take, CaughtUp: func() {}, Reset: func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.resets++
			h.reset()
		}})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		closeQueue(t, q)
	})
	return h
}

func (h *atHub) reset() {
	h.changes, h.workloads, h.positions, h.statuses = nil, map[string]bool{}, map[string]reloader.Position{}, map[string]reloader.ClusterStatus{}
}

func (h *atHub) take(e queue.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case e.Change != nil:
		h.changes = append(h.changes, e.Change.ID)
	case e.Workload != nil:
		h.workloads[e.Cluster+"/"+e.Workload.Workload.String()] = true
	case e.Gone != nil:
		delete(h.workloads, e.Cluster+"/"+e.Gone.String())
	case e.Position != nil:
		h.positions[e.Cluster+"/"+e.Position.Of] = *e.Position
	case e.Status != nil:
		h.statuses[e.Cluster] = *e.Status
	}
}

// has waits until the hub has those changes, each once and in that order.
func (h *atHub) has(t *testing.T, cluster string, from, to int) {
	t.Helper()
	var want []string
	for n := from; n < to; n++ {
		want = append(want, change(cluster, n).ID)
	}
	h.eventually(t, func() error {
		if !slices.Equal(h.changes, want) {
			return fmt.Errorf("the hub has %d changes, want %d", len(h.changes), len(want))
		}
		return nil
	})
}

func (h *atHub) eventually(t *testing.T, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := poll.Until(ctx, func(context.Context) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		return check()
	}); err != nil {
		t.Fatal(err)
	}
}

// streamOf returns a stream of a hub, as its administrator.
func streamOf(t *testing.T, url, name string) jetstream.Stream {
	t.Helper()
	c, err := queue.Dial(natsserver.Login(t, url, natsserver.HubUser))
	must(t, err)
	t.Cleanup(c.NATS.Close)
	s, err := c.JS.Stream(t.Context(), name)
	must(t, err)
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
