package queue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/reroll-dev/reroll/reloader"
)

// stored returns how many messages a stream has.
func stored(t testing.TB, q *Queue, stream string) int {
	t.Helper()
	s, err := q.JS.Stream(testContext(t), stream)
	must(t, err)
	return int(s.CachedInfo().State.Msgs)
}

// TestHints: hints of a small and of a large call arrive, and acknowledged ones are gone from the stream.
func TestHints(t *testing.T) {
	q := open(t, Options{})
	for _, n := range []int{1, batchFrom - 1, batchFrom, maxBatch + 5} {
		must(t, q.Put(testContext(t), hints(n)))
	}
	c := consume(t, q, acknowledge)
	eventually(t, "everything is delivered", func() bool { return len(c.names()) == maxBatch+5 })
	eventually(t, "the stream is empty", func() bool { return stored(t, q, HintsStream) == 0 })
	if h := c.deliveries()[0].Hint(); !h.Time.Equal(epoch) || h.Actor.User != "alice" {
		t.Errorf("delivered %+v", h)
	}
	c.end(t)
}

// TestUnacknowledgedHintsStay: they are still stored when their consumer has ended, also one about all configs of a namespace.
func TestUnacknowledgedHintsStay(t *testing.T) {
	q := open(t, Options{})
	all := hint("")
	must(t, q.Put(testContext(t), append(hints(3), all)))
	first := consume(t, q, func(d Delivery) {
		if d.Hint().Config.Name == "config-1" {
			d.Ack()
		}
	})
	eventually(t, "all are delivered", func() bool { return len(first.names()) == 4 })
	first.end(t)
	if n, err := q.HintsPending(testContext(t), "blue"); err != nil || n != 3 {
		t.Errorf("%d hints are pending: %v", n, err)
	}
	if err := q.Consuming(); err != nil {
		t.Errorf("nothing consumes, and is told %v", err)
	}
}

// TestUnusableHints: what can never be stored is dropped, and what cannot be read, or is about another cluster than its subject says, ends.
func TestUnusableHints(t *testing.T) {
	q := open(t, Options{})
	bad := hint("UPPER")
	must(t, q.Put(testContext(t), []reloader.Hint{bad, hint("good")}))
	forged, err := hintMessage(reloader.Hint{Cluster: "red", Config: config("forged"), Verb: reloader.VerbUpdate, Time: epoch})
	must(t, err)
	for subject, data := range map[string][]byte{"reroll.hint.blue.configmap.shop.x": []byte("?"), "reroll.hint.blue.configmap.shop.forged": forged.Data} {
		if _, err := q.JS.Publish(testContext(t), subject, data); err != nil {
			t.Fatal(err)
		}
	}
	c := consume(t, q, acknowledge)
	eventually(t, "the stream is empty", func() bool { return stored(t, q, HintsStream) == 0 })
	if names := c.names(); len(names) != 1 || names["good"] != 1 {
		t.Errorf("delivered %v", names)
	}
	if dropped, unreadable := testutil.ToFloat64(q.metrics.dropped), testutil.ToFloat64(q.metrics.unreadable.WithLabelValues(HintsStream)); dropped != 1 || unreadable != 2 {
		t.Errorf("%v dropped, %v unreadable", dropped, unreadable)
	}
}

// TestFullStreamRefusesAndLosesNothing: when hints fill their room, Put fails, and succeeds again once some are acknowledged.
func TestFullStreamRefusesAndLosesNothing(t *testing.T) {
	q := open(t, Options{MaxStore: 2 << 20})
	taken, full := 0, error(nil)
	for ; full == nil; taken++ {
		full = q.Put(testContext(t), []reloader.Hint{numbered(taken)})
	}
	if taken--; !errors.Is(full, ErrFull) || taken < 100 {
		t.Fatalf("after %d hints: %v", taken, full)
	}
	if err := q.Put(testContext(t), hints(maxBatch)); !errors.Is(err, ErrFull) {
		t.Errorf("a batch is answered by %v", err)
	}
	if err := q.AppendReload(testContext(t), reload("web", 1)); err != nil {
		t.Errorf("a reload when hints are full: %v", err)
	}
	c := consume(t, q, acknowledge)
	eventually(t, "all of them are delivered", func() bool { return len(c.names()) == taken })
	eventually(t, "there is room again", func() bool { return q.Put(testContext(t), []reloader.Hint{hint("next")}) == nil })
}

// TestClosing: Close waits for handlers, and what comes after it is refused.
func TestClosing(t *testing.T) {
	q := open(t, Options{})
	must(t, q.Put(testContext(t), hints(1)))
	entered, leave := make(chan struct{}), make(chan struct{})
	c := consume(t, q, func(Delivery) {
		close(entered)
		<-leave
	})
	<-entered
	closed := make(chan error, 1)
	go func() { closed <- q.Close(context.Background()) }()
	<-q.life.Done()
	select {
	case err := <-closed:
		t.Fatalf("closed while a handler runs: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(leave)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := <-c.done; !errors.Is(err, ErrClosed) {
		t.Errorf("ConsumeHints ended with %v", err)
	}
	for name, err := range map[string]error{
		"Put": q.Put(context.Background(), hints(1)), "AppendReload": q.AppendReload(context.Background(), reload("web", 1)),
		"Healthy": q.Healthy(context.Background()), "Follow": q.Follow(context.Background(), Follower{}),
	} {
		if !errors.Is(err, ErrClosed) && !strings.Contains(fmt.Sprint(err), "closed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEmbeddedWaitsForTheDisk: whatever the operator's file says, the running server answers once a hint is on disk, and not only in the memory of the kernel.
func TestEmbeddedWaitsForTheDisk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nats.conf")
	must(t, os.WriteFile(file, []byte("jetstream { sync_interval: 1h }\n"), 0o600))
	for _, o := range []Options{{}, {ConfigFile: file}} {
		if running := open(t, o).embedded.server.JetStreamConfig(); !running.SyncAlways {
			t.Errorf("with the file %q it runs with %+v", o.ConfigFile, running)
		}
	}
}
