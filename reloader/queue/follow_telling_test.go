//go:build nightly

package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/reroll-dev/reroll/reloader"
)

// TestFollowingGoesOnSoonAfterTheHubStarts: its servers take connections before they answer for a stream.
func TestFollowingGoesOnSoonAfterTheHubStarts(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	at := open(t, Options{URL: address, Role: RoleHubAdmin})
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
	case <-testContext(t).Done():
		t.Error("no copy came")
	}
	if strings.Contains(log.String(), "not set up for configs") {
		t.Errorf("the set-up is blamed:\n%s", log.String())
	}
}

// TestWhatAHubSeemsToLackIsTriedSoon: again and again within half a minute, and the set-up is blamed only then. From then on it is tried seldom.
func TestWhatAHubSeemsToLackIsTriedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log text
		f := &Forwarder{ForwardOptions: ForwardOptions{Logger: loggerTo(&log)}}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		began := time.Now()
		var tries, blamed []time.Duration
		err := f.apart(ctx, func() error {
			if strings.Count(log.String(), "not set up for configs") > len(blamed) {
				blamed = append(blamed, time.Since(began))
			}
			tries = append(tries, time.Since(began)/time.Second)
			return ErrNotSetUp
		})
		if want := []time.Duration{0, 1, 3, 7, 15, 31, 61, 91}; !slices.Equal(tries, want) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("tried after %d seconds until %v, want %d", tries, err, want)
		}
		if len(blamed) == 0 || blamed[0] < refusedWait {
			t.Errorf("the set-up was blamed by %v", blamed)
		}
	})
}

// TestBusyOwnerCostsOneSubject: what is told of one config makes nobody look for the others.
func TestBusyOwnerCostsOneSubject(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	h := newHub(open(t, Options{URL: address, Role: RoleForward}))
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
	own := h.q.nc.NewRespInbox()
	own = own[:strings.LastIndex(own, ".")+1] // where the answers to our own looks go
	const request = "$JS.API.DIRECT.GET." + followsStream + "."
	_, err = h.q.nc.Subscribe(request+followPrefix+".blue.green.>", func(m *nats.Msg) {
		switch {
		case strings.HasPrefix(m.Reply, own):
		case m.Subject == request+subject:
			ofBusy.Add(1)
		default:
			others.Add(1)
		}
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
	eventually(t, "the first look", func() bool { return others.Load() >= many-1 && ofBusy.Load() > 0 })
	began := time.Now()
	const edits = 3
	for n := range edits {
		before := ofBusy.Load()
		busy.Change.ID, busy.At = fmt.Sprint("c-", n), epoch.Add(time.Duration(n))
		if err := h.putCopy(context.Background(), subject, busy); err != nil {
			t.Fatal(err)
		}
		eventually(t, "a look when it is told, and another", func() bool { return ofBusy.Load() >= before+2 })
	}
	eventually(t, "the copies", func() bool { return received.Load() > 0 })
	polls := 1 + int64(time.Since(began)/copyInterval) // all are looked for now and then, whatever is told
	if n := others.Load() - (many - 1); n > polls*(many-1) {
		t.Errorf("others were looked for %d times after the first look, want %d at most", n, polls*(many-1))
	}
}

// TestCopyOfAnEarlierLeaderGivesWay: a process that was paused, and does not know that another one leads, changes nothing at the hub. Nor does a
// clock that was wrong once hold up what comes.
func TestCopyOfAnEarlierLeaderGivesWay(t *testing.T) {
	h := newHub(open(t, Options{URL: hubServer(t, t.TempDir(), -1).ClientURL(), Role: RoleForward}))
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
