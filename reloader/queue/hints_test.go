package queue

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/reroll-dev/reroll/reloader"
)

func TestHintsArrive(t *testing.T) {
	for name, n := range map[string]int{"one": 1, "few, stored singly": 5, "many, stored as a batch": 400, "more than a batch": 1500} {
		t.Run(name, func(t *testing.T) {
			q := open(t, Options{})
			want := hints(n)
			if err := q.Put(testContext(t), want); err != nil {
				t.Fatal(err)
			}
			c := consume(t, q, acknowledge)
			eventually(t, "all hints are delivered", func() bool { return len(c.deliveries()) == n })
			for i, d := range c.deliveries() {
				if diff := cmp.Diff(want[i], d.Hint()); diff != "" || d.Sequence() != uint64(i+1) {
					t.Fatalf("hint %d, sequence %d: %s", i, d.Sequence(), diff)
				}
			}
			eventually(t, "nothing is left", func() bool { return backlog(t, q) == 0 })
			c.end(t)
		})
	}
}

// backlog returns how many hints are stored and not acknowledged.
func backlog(t *testing.T, q *Queue) uint64 {
	t.Helper()
	consumer, err := q.js.Consumer(testContext(t), hintsStream, consumerName("blue"))
	if err != nil {
		t.Fatal(err)
	}
	info := consumer.CachedInfo()
	return info.NumPending + uint64(info.NumAckPending)
}

// TestHintsThatAreNotDoneAreCounted: those that were taken and are not acknowledged count like those that were not taken; who does not consume
// has none.
func TestHintsThatAreNotDoneAreCounted(t *testing.T) {
	q := open(t, Options{})
	if err := q.Put(testContext(t), hints(7)); err != nil {
		t.Fatal(err)
	}
	c := consume(t, q, func(Delivery) {})
	eventually(t, "all are counted", func() bool { return q.HintsPending() == 7 })
	c.end(t)
	eventually(t, "none is this process's any more", func() bool { return q.HintsPending() == 0 })
}

func TestHintsOfOtherClustersDoNotArrive(t *testing.T) {
	q := open(t, Options{})
	green := hint("x")
	green.Cluster = "green"
	if err := q.Put(testContext(t), []reloader.Hint{green, hint("mine")}); err != nil {
		t.Fatal(err)
	}
	c := consume(t, q, acknowledge)
	eventually(t, "a hint is delivered", func() bool { return len(c.deliveries()) == 1 })
	if diff := cmp.Diff(map[string]int{"mine": 1}, c.names()); diff != "" || backlog(t, q) > 1 {
		t.Error(diff)
	}
	c.end(t)
}

func TestAcknowledgedHintsStayAwayAfterReopen(t *testing.T) {
	dir := t.TempDir()
	q := open(t, Options{StoreDir: dir})
	if err := q.Put(testContext(t), []reloader.Hint{hint("done"), hint("open")}); err != nil {
		t.Fatal(err)
	}
	c := consume(t, q, func(d Delivery) {
		if d.Hint().Config.Name == "done" {
			d.Ack()
		}
	})
	eventually(t, "both are delivered", func() bool { return len(c.deliveries()) == 2 })
	closeQueue(t, q)
	if err := <-c.done; !errors.Is(err, ErrClosed) {
		t.Errorf("ConsumeHints ended with %v; want ErrClosed", err)
	}

	q = open(t, Options{StoreDir: dir})
	if n := backlog(t, q); n != 1 {
		t.Errorf("backlog is %d; want the one hint that was not acknowledged", n)
	}
	if err := q.Put(testContext(t), []reloader.Hint{hint("later")}); err != nil {
		t.Fatal(err)
	}
	c = consume(t, q, acknowledge)
	eventually(t, "the new one is delivered", func() bool { return c.names()["later"] == 1 })
	if c.names()["done"] != 0 {
		t.Error("an acknowledged hint came again")
	}
	c.end(t)
}

func TestStoredHintsSurviveAKill(t *testing.T) {
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childStore+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	stored := -1
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if stored, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatalf("child: %s", lines.Text())
		}
		if stored == 200 {
			_ = child.Process.Kill()
		}
	}
	_ = child.Wait()
	if stored < 200 {
		t.Fatalf("the child stored only %d hints", stored+1)
	}

	q := open(t, Options{StoreDir: dir})
	c := consume(t, q, acknowledge)
	eventually(t, "every stored hint is delivered", func() bool { return len(c.deliveries()) > stored })
	names := c.names()
	for n := range stored + 1 {
		if names[fmt.Sprintf("config-%d", n)] == 0 {
			t.Fatalf("hint %d of %d was acknowledged and is gone", n, stored)
		}
	}
	c.end(t)
}

func TestFullStoreRefuses(t *testing.T) {
	for name, n := range map[string]int{"singly": 1, "as a batch": 100} {
		t.Run(name, func(t *testing.T) {
			q := open(t, Options{HintsMaxBytes: 64 << 10})
			var err error
			stored := 0
			for ; err == nil && stored < 10_000; stored += n {
				batch := make([]reloader.Hint, n)
				for i := range batch {
					batch[i] = numbered(stored + i)
				}
				err = q.Put(testContext(t), batch)
			}
			if !errors.Is(err, ErrFull) {
				t.Fatalf("after %d hints: %v; want ErrFull", stored, err)
			}
			if err := q.Healthy(testContext(t)); err != nil {
				t.Errorf("a full stream is not a broken server: %v", err)
			}
		})
	}
}

// TestBadHintCostsItselfAlone: whoever sends a hint that no store can take would otherwise send it, and those beside it, again and again.
func TestBadHintCostsItselfAlone(t *testing.T) {
	name, time10000 := hint("a"), hint("b")
	name.Config.Namespace = "*"
	time10000.Time = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	for reason, bad := range map[string]reloader.Hint{"a name that is a filter": name, "a time that JSON cannot hold": time10000} {
		t.Run(reason, func(t *testing.T) {
			q := open(t, Options{})
			if err := q.Put(testContext(t), []reloader.Hint{hint("before"), bad, hint("after")}); err != nil {
				t.Fatal(err)
			}
			for _, good := range []string{"before", "after"} {
				if !hasHint(t, q, good) {
					t.Errorf("%s was not stored", good)
				}
			}
			if err := q.Put(testContext(t), []reloader.Hint{bad}); err != nil {
				t.Errorf("a sender would send it again: %v", err)
			}
			var m dto.Metric
			if err := q.metrics.dropped.Write(&m); err != nil || m.GetCounter().GetValue() != 2 {
				t.Errorf("%v were counted, %v; want 2", m.GetCounter().GetValue(), err)
			}
		})
	}
}

func TestConsumerComesBackWhenDeleted(t *testing.T) {
	q := open(t, Options{})
	c := consume(t, q, acknowledge)
	if err := q.Put(testContext(t), []reloader.Hint{hint("before")}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first is delivered", func() bool { return c.names()["before"] == 1 })
	if err := q.js.DeleteConsumer(testContext(t), hintsStream, consumerName("blue")); err != nil {
		t.Fatal(err)
	}
	if err := q.Put(testContext(t), []reloader.Hint{hint("after")}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second is delivered", func() bool { return c.names()["after"] > 0 })
	c.end(t)
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	q := open(t, Options{StoreDir: dir})
	second, err := Open(testContext(t), Options{StoreDir: dir, Logger: quiet()})
	if !errors.Is(err, ErrLocked) || second != nil {
		t.Fatalf("got %v; want ErrLocked", err)
	}
	if err := q.Put(testContext(t), hints(1)); err != nil {
		t.Errorf("the first was disturbed: %v", err)
	}
	closeQueue(t, q)
	open(t, Options{StoreDir: dir})
}

func TestClosedQueueRefuses(t *testing.T) {
	registry := prometheus.NewRegistry()
	q := open(t, Options{Registerer: registry})
	closeQueue(t, q)
	ctx := testContext(t)
	calls := map[string]error{
		"Put":          q.Put(ctx, hints(1)),
		"ConsumeHints": q.ConsumeHints(ctx, "blue", acknowledge),
		"Follow":       q.Follow(ctx, Followed{}),
		"Healthy":      q.Healthy(ctx),
		"LatestChange": func() error { _, _, err := q.LatestChange(ctx, "blue", config("a")); return err }(),
	}
	for name, err := range calls {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v; want ErrClosed", name, err)
		}
	}
	closeQueue(t, q)
	open(t, Options{Registerer: registry})
}

func TestPutHonoursItsContext(t *testing.T) {
	q := open(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := q.Put(ctx, hints(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want context.Canceled", err)
	}
}
