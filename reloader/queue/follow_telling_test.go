package queue

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/reroll-dev/reroll/reloader"
)

// TestFollowingGoesOnSoonAfterTheHubStarts: its servers take connections before they answer for a stream.
func TestFollowingGoesOnSoonAfterTheHubStarts(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	at := open(t, Options{URL: address, Role: RoleHubAdmin, BindOnly: true})
	stream, err := at.js.Stream(testContext(t), followsStream)
	if err != nil {
		t.Fatal(err)
	}
	as := stream.CachedInfo().Config
	if err := at.js.DeleteStream(testContext(t), followsStream); err != nil {
		t.Fatal(err)
	}
	var log text
	got := make(chan reloader.Copy, 10)
	owner := inFleet(t, address, "blue", Following{
		Followed: func() []reloader.Follow { return nil }, Received: func(reloader.Copy) {}, Wanted: func(reloader.Want) {},
	})
	followed := copyNumbered(1).Followed()
	inFleetLogged(t, address, "green", loggerTo(&log), Following{
		Followed: func() []reloader.Follow { return []reloader.Follow{{Config: followed}} },
		Received: func(c reloader.Copy) { got <- c }, Wanted: func(reloader.Want) {},
	})
	owner.Send(copyNumbered(1))
	eventually(t, "that nobody answers", func() bool { return strings.Contains(log.String(), "nobody answers for the stream "+followsStream) })
	if _, err := at.js.CreateStream(testContext(t), as); err != nil {
		t.Fatal(err)
	}
	select {
	case <-got:
	case <-time.After(5 * time.Second):
		t.Error("no copy came within five seconds")
	}
	if strings.Contains(log.String(), "not set up for configs") {
		t.Errorf("the set-up is blamed:\n%s", log.String())
	}
}

// TestBusyOwnerCostsOneSubject: what is told of one config makes nobody look for the others.
func TestBusyOwnerCostsOneSubject(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	h := newHub(open(t, Options{URL: address, Role: RoleForward, BindOnly: true}))
	var followed []reloader.Follow
	const many = 100
	for n := range many {
		c := copyNumbered(0)
		c.Config = config(fmt.Sprint("c-", n))
		followed = append(followed, reloader.Follow{Config: c.Followed()})
	}
	busy := copyNumbered(0)
	busy.Config = config("c-0")
	subject, err := copySubject(busy)
	if err != nil {
		t.Fatal(err)
	}
	var others, ofBusy, received atomic.Int64
	const request = "$JS.API.DIRECT.GET." + followsStream + "."
	_, err = h.q.nc.Subscribe(request+followPrefix+".blue.green.>", func(m *nats.Msg) {
		if m.Subject == request+subject {
			ofBusy.Add(1)
			return
		}
		others.Add(1)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.q.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	inFleet(t, address, "green", Following{
		Followed: func() []reloader.Follow { return followed }, Received: func(reloader.Copy) { received.Add(1) }, Wanted: func(reloader.Want) {},
	})
	eventually(t, "the first look", func() bool { return others.Load() >= many-1 })
	const edits = 3
	tick := time.NewTicker(2500 * time.Millisecond)
	defer tick.Stop()
	for n := range edits {
		<-tick.C
		busy.Change.ID, busy.At = fmt.Sprint("c-", n), epoch.Add(time.Duration(n))
		if err := h.putCopy(context.Background(), subject, busy); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the copies", func() bool { return received.Load() > 0 && ofBusy.Load() > edits })
	if n := others.Load(); n > 2*(many-1) {
		t.Errorf("others were looked for %d times, want %d when it began, and once again at most", n, many-1)
	}
}

// TestCopyOfAnEarlierLeaderGivesWay: a process that was paused, and does not know that another one leads, changes nothing at the hub. Nor does a
// clock that was wrong once hold up what comes.
func TestCopyOfAnEarlierLeaderGivesWay(t *testing.T) {
	h := newHub(open(t, Options{URL: hubServer(t, t.TempDir(), -1).ClientURL(), Role: RoleForward, BindOnly: true}))
	ctx := testContext(t)
	for _, step := range []struct {
		n    int
		at   time.Time
		want int
	}{
		{1, epoch, 1},
		{2, epoch.Add(time.Minute), 2},
		{1, epoch, 2},
		{3, epoch.Add(time.Minute), 3},
		{4, time.Now().Add(time.Hour), 4},
		{5, epoch.Add(2 * time.Minute), 5},
	} {
		c := copyNumbered(step.n)
		c.At = step.at
		subject, err := copySubject(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.putCopy(ctx, subject, c); err != nil {
			t.Fatal(err)
		}
		last, err := h.last(ctx, followsStream, subject)
		if err != nil {
			t.Fatal(err)
		}
		got, err := reloader.Decode[reloader.Copy](last.data)
		if want := copyNumbered(step.want).Change.ID; err != nil || got.Change.ID != want {
			t.Errorf("after %s the hub has %s, want %s: %v", c.Change.ID, got.Change.ID, want, err)
		}
	}
}
