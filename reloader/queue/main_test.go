package queue

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/port"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

const (
	waitTime  = 2 * time.Minute
	testStore = 256 << 20
)

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTime)
	t.Cleanup(cancel)
	return ctx
}

// open returns a queue that is closed at the end of the test.
func open(t testing.TB, o Options) *Queue {
	t.Helper()
	if o.URL == "" && o.StoreDir == "" {
		o.StoreDir = t.TempDir()
	}
	if o.Logger == nil {
		o.Logger = quiet()
	}
	if o.MaxStore == 0 {
		o.MaxStore = testStore
	}
	q, err := Open(testContext(t), o)
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitTime)
		defer cancel()
		if err := q.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return q
}

// external starts a server on a loopback port; port -1 picks one. The options may be changed by adjust.
func external(t testing.TB, dir string, at int, adjust func(*server.Options)) *server.Server {
	t.Helper()
	if at == -1 {
		free, err := port.Free(1) // to which it can come back
		must(t, err)
		at = free[0]
	}
	o := &server.Options{Host: "127.0.0.1", Port: at, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir, JetStreamMaxStore: 1 << 30}
	if adjust != nil {
		adjust(o)
	}
	s, err := server.NewServer(o)
	must(t, err)
	s.Start()
	if !s.ReadyForConnections(waitTime) {
		t.Fatal("the external server did not start")
	}
	t.Cleanup(func() { stopServer(s) })
	return s
}

func stopServer(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// eventually polls until ok, and fails the test if that takes too long.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(waitTime)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("timed out: %s", what)
		}
	}
}

var epoch = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

func config(name string) reloader.Config {
	return reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: name}
}

func hint(name string) reloader.Hint {
	return reloader.Hint{
		Cluster: "blue", Config: config(name), Verb: reloader.VerbUpdate, Source: reloader.SourceAudit,
		Actor: reloader.Actor{User: "alice", UserAgent: "kubectl/v1.37.2"}, AuditID: "a-" + name, Code: 200, Time: epoch, Received: epoch,
	}
}

func numbered(n int) reloader.Hint { return hint(fmt.Sprintf("config-%d", n)) }

func hints(n int) []reloader.Hint {
	out := make([]reloader.Hint, n)
	for i := range out {
		out[i] = numbered(i)
	}
	return out
}

// consuming collects what ConsumeHints delivers.
type consuming struct {
	mu   sync.Mutex
	got  []Delivery
	stop context.CancelFunc
	done chan error
}

// consume starts to consume hints of cluster blue; each is first given to handle.
func consume(t testing.TB, q *Queue, handle func(Delivery)) *consuming {
	t.Helper()
	c := &consuming{done: make(chan error, 1)}
	var ctx context.Context
	ctx, c.stop = context.WithCancel(context.Background())
	t.Cleanup(c.stop)
	go func() {
		c.done <- q.ConsumeHints(ctx, "blue", func(d Delivery) {
			handle(d)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.got = append(c.got, d)
		})
	}()
	return c
}

func (c *consuming) deliveries() []Delivery {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Delivery(nil), c.got...)
}

// names returns the names of the configs that were delivered.
func (c *consuming) names() map[string]int {
	names := map[string]int{}
	for _, d := range c.deliveries() {
		names[d.Hint().Config.Name]++
	}
	return names
}

// end stops consuming and waits until it has ended.
func (c *consuming) end(t testing.TB) {
	t.Helper()
	c.stop()
	select {
	case err := <-c.done:
		if err != nil {
			t.Errorf("ConsumeHints ended with %v", err)
		}
	case <-time.After(waitTime):
		t.Fatal("ConsumeHints did not end")
	}
}

func acknowledge(d Delivery) { d.Ack() }
