package queue

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/reroll-dev/reroll/reloader"
)

func freeze(id string) reloader.Command {
	return reloader.Command{ID: id, Cluster: "blue", Verb: reloader.CommandFreeze, User: "alice", At: time.Unix(1, 0).UTC()}
}

// serve has q carry out the commands of blue until the test ends, and returns once somebody listens. It counts subscriptions: nothing else may
// be ending one meanwhile.
func serve(t *testing.T, q *Queue, carry func(context.Context, reloader.Command) reloader.CommandAnswer) (end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	before := q.nc.NumSubscriptions()
	done := make(chan error, 1)
	go func() { done <- q.ServeCommands(ctx, "blue", carry) }()
	t.Cleanup(cancel)
	eventually(t, "somebody listens", func() bool { return q.nc.NumSubscriptions() > before && q.nc.Flush() == nil })
	return func() error { cancel(); return <-done }
}

func done(_ context.Context, c reloader.Command) reloader.CommandAnswer {
	return reloader.CommandAnswer{ID: c.ID, Cluster: c.Cluster, Result: reloader.CommandDone, Message: c.User}
}

func TestCommandIsAnswered(t *testing.T) {
	q := open(t, Options{})
	end := serve(t, q, done)
	answer, err := q.Command(testContext(t), freeze("k-1"))
	want := reloader.CommandAnswer{ID: "k-1", Cluster: "blue", Result: reloader.CommandDone, Message: "alice"}
	if diff := cmp.Diff(want, answer); err != nil || diff != "" {
		t.Errorf("answer (-want +got): %v\n%s", err, diff)
	}
	if err := end(); err != nil {
		t.Errorf("the end of serving is an error: %v", err)
	}
}

func TestCommandThatNobodyTakesIsNotKept(t *testing.T) {
	q := open(t, Options{})
	if _, err := q.Command(testContext(t), freeze("k-1")); !errors.Is(err, ErrNobodyListens) {
		t.Fatalf("got %v, want that nobody listens", err)
	}
	var mu sync.Mutex
	var seen []string
	serve(t, q, func(ctx context.Context, c reloader.Command) reloader.CommandAnswer {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, c.ID)
		return done(ctx, c)
	})
	if _, err := q.Command(testContext(t), freeze("k-2")); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{"k-2"}, seen); diff != "" {
		t.Errorf("carried out (-want +got):\n%s", diff)
	}
}

func TestCommandThatIsBeingCarriedOutIsAnsweredAtTheEnd(t *testing.T) {
	q := open(t, Options{})
	began, goOn := make(chan struct{}), make(chan struct{})
	end := serve(t, q, func(ctx context.Context, c reloader.Command) reloader.CommandAnswer {
		close(began)
		<-goOn
		return done(ctx, c)
	})
	answered := make(chan error, 1)
	ctx := testContext(t)
	go func() {
		_, err := q.Command(ctx, freeze("k-1"))
		answered <- err
	}()
	select {
	case <-began:
	case err := <-answered:
		t.Fatalf("answered before it was carried out: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	close(goOn)
	if err := errors.Join(<-answered, <-ended); err != nil {
		t.Error(err)
	}
}

func TestForgedCommandsAreNotCarriedOut(t *testing.T) {
	q := open(t, Options{})
	carried := make(chan string, 10)
	serve(t, q, func(ctx context.Context, c reloader.Command) reloader.CommandAnswer {
		carried <- c.ID
		return done(ctx, c)
	})
	other := freeze("k-other")
	other.Cluster = "red"
	for name, c := range map[string]struct {
		subject string
		data    []byte
	}{
		"command to another cluster": {"reroll.cmd.blue.freeze", encoded(t, other)},
		"another verb":               {"reroll.cmd.blue.thaw", encoded(t, freeze("k-verb"))},
		"no command":                 {"reroll.cmd.blue.freeze", []byte("freeze")},
		"unknown verb":               {"reroll.cmd.blue.delete", []byte(`{"v":1,"id":"x","cluster":"blue","verb":"delete"}`)},
	} {
		if err := q.nc.PublishMsg(&nats.Msg{Subject: c.subject, Data: c.data}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if _, err := q.Command(testContext(t), freeze("k-last")); err != nil {
		t.Fatal(err)
	}
	if first := <-carried; first != "k-last" {
		t.Errorf("carried out %s", first)
	}
}

func encoded(t *testing.T, c reloader.Command) []byte {
	t.Helper()
	data, err := reloader.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestFaultyCommandIsNotSent(t *testing.T) {
	q := open(t, Options{})
	c := freeze("k-1")
	c.Cluster = "a.>"
	if _, err := q.Command(testContext(t), c); !errors.Is(err, reloader.ErrInvalidName) {
		t.Errorf("got %v, want that the name is invalid", err)
	}
	c = freeze(strings.Repeat("k", reloader.MaxCommandIDLength+1))
	if _, err := q.Command(testContext(t), c); err == nil || errors.Is(err, ErrNobodyListens) {
		t.Errorf("a long ID: %v", err)
	}
}

// TestDispatcherGivesNoCommands: whoever works for a cluster does not command it.
func TestDispatcherGivesNoCommands(t *testing.T) {
	admin, dispatch := asUser(t, RoleDispatch)
	if _, err := Setup(testContext(t), admin, Layout{Clusters: []string{"blue"}}, false); err != nil {
		t.Fatal(err)
	}
	q := open(t, dispatch)
	serve(t, q, done)
	if _, err := q.Command(testContext(t), freeze("k-1")); !errors.Is(err, ErrDenied) {
		t.Errorf("the dispatcher gave itself a command: %v", err)
	}
}
