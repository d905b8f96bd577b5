package queue

import (
	"context"
	"fmt"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

// inFleet runs a forwarder of a cluster until the end of the test.
func inFleet(t *testing.T, hub, cluster string, to Following) *Forwarder {
	t.Helper()
	f, err := open(t, Options{}).NewForwarder(ForwardOptions{Hub: Options{URL: hub}, Cluster: cluster, UID: "uid-" + cluster, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx, to) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return f
}

func copyNumbered(n int) reloader.Copy {
	return reloader.Copy{Owner: "blue", Target: "green", Config: config("flags.v2"), Change: reloader.Change{ID: fmt.Sprint("c-", n)}, At: epoch}
}

// TestCopiesOfACutArriveAsOne: the newest copy is the state; those that nobody heard of in time are not needed.
func TestCopiesOfACutArriveAsOne(t *testing.T) {
	dir := t.TempDir()
	hub := hubServer(t, dir, -1)
	address := hub.ClientURL()
	got := make(chan string, 1000)
	owner := inFleet(t, address, "blue", Following{
		Followed: func() []reloader.Config { return nil }, Received: func(reloader.Copy) {}, Wanted: func(reloader.Want) {},
	})
	followed := config("flags.v2")
	followed.Cluster = "blue"
	inFleet(t, address, "green", Following{
		Followed: func() []reloader.Config { return []reloader.Config{followed} },
		Received: func(c reloader.Copy) { got <- c.Change.ID }, Wanted: func(reloader.Want) {},
	})
	next := func() string {
		select {
		case id := <-got:
			return id
		case <-testContext(t).Done():
			t.Fatal("no copy came")
			return ""
		}
	}
	owner.Send(copyNumbered(1))
	if id := next(); id != "c-1" {
		t.Errorf("got %s", id)
	}
	stopServer(hub)
	const last = 200
	for n := range last {
		owner.Send(copyNumbered(n + 2))
	}
	hubServer(t, dir, hubPort(t, address))
	for id := ""; id != copyNumbered(last+1).Change.ID; {
		if id = next(); id != "c-1" && id != copyNumbered(last+1).Change.ID {
			t.Errorf("a copy in between came: %s", id)
		}
	}
}

func TestSendRefusesCopiesOfOthers(t *testing.T) {
	var log text
	f, err := open(t, Options{}).NewForwarder(ForwardOptions{Hub: Options{URL: "nats://127.0.0.1:1"}, Cluster: "red", UID: "u", Logger: loggerTo(&log)})
	if err != nil {
		t.Fatal(err)
	}
	f.Send(copyNumbered(1))
	bad := copyNumbered(1)
	bad.Owner, bad.Target = "red", "a.>"
	f.Send(bad)
	if n := len(f.takeUnsent()); n != 0 {
		t.Errorf("%d copies are to be sent", n)
	}
	if log.String() == "" {
		t.Error("nobody is told")
	}
}
