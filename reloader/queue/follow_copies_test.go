package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// inFleet runs a forwarder of a cluster until the end of the test.
func inFleet(t *testing.T, hub, cluster string, to Following) *Forwarder {
	t.Helper()
	return inFleetLogged(t, hub, cluster, quiet(), to)
}

func inFleetLogged(t *testing.T, hub, cluster string, log *slog.Logger, to Following) *Forwarder {
	t.Helper()
	return inFleetFrom(t, open(t, Options{}), ForwardOptions{Hub: Options{URL: hub}, Cluster: cluster, UID: "uid-" + cluster, Logger: log}, to)
}

func inFleetFrom(t *testing.T, q *Queue, o ForwardOptions, to Following) *Forwarder {
	t.Helper()
	f, err := q.NewForwarder(o)
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
		Followed: func() []reloader.Follow { return nil }, Received: func(reloader.Copy) {}, Wanted: func(reloader.Want) {},
	})
	followed := config("flags.v2")
	followed.Cluster = "blue"
	inFleet(t, address, "green", Following{
		Followed: func() []reloader.Follow { return []reloader.Follow{{Config: followed}} },
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

// TestCopiesOfWhatIsNotWantedAreForgotten: what a cluster asks for in turns does not add up at the owner, nor does it touch what others have.
func TestCopiesOfWhatIsNotWantedAreForgotten(t *testing.T) {
	f, err := open(t, Options{}).NewForwarder(ForwardOptions{Hub: Options{URL: "nats://127.0.0.1:1"}, Cluster: "blue", UID: "u", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"green", "red"} {
		for n := range 10 {
			c := reloader.Copy{Owner: "blue", Target: target, Config: config(fmt.Sprint("c-", n)), Refused: "not yours", At: time.Now()}
			f.Send(c)
		}
	}
	f.dropCopies(reloader.Want{Owner: "blue", Target: "green", Configs: []reloader.Config{config("c-3")}}, time.Now())
	if all, unsent := len(f.copies), len(f.takeUnsent()); all != 11 || unsent != 11 {
		t.Errorf("%d copies are kept and %d of them to be sent, want one for green and ten for red", all, unsent)
	}
}

// TestSendKeepsTheLaterCopy: of two looks at a config the one that began first may end last. One from the time to come gives way.
func TestSendKeepsTheLaterCopy(t *testing.T) {
	f, err := open(t, Options{}).NewForwarder(ForwardOptions{Hub: Options{URL: "nats://127.0.0.1:1"}, Cluster: "blue", UID: "u", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, step := range []struct {
		sent int
		at   time.Duration
		kept int
	}{{1, -time.Minute, 1}, {2, -2 * time.Minute, 1}, {3, -time.Minute, 3}, {4, time.Hour, 4}, {5, 0, 5}} {
		c := copyNumbered(step.sent)
		c.At = now.Add(step.at)
		f.Send(c)
		for _, kept := range f.copies {
			if kept.Change.ID != copyNumbered(step.kept).Change.ID {
				t.Errorf("copy %d was sent, and %s is kept", step.sent, kept.Change.ID)
			}
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

// TestCopiesAreLookedForSideBySide: who follows many configs waits for each of them no longer than for a few.
func TestCopiesAreLookedForSideBySide(t *testing.T) {
	hub := newHub(open(t, Options{URL: hubServer(t, t.TempDir(), -1).ClientURL(), Role: RoleForward}))
	ctx := testContext(t)
	var followed []reloader.Follow
	for n := range 3 * looksAtOnce {
		c := copyNumbered(n)
		c.Config = config(fmt.Sprint("c-", n))
		subject, err := copySubject(c)
		if err := errors.Join(err, hub.putCopy(ctx, subject, c)); err != nil {
			t.Fatal(err)
		}
		c.Config.Cluster = "blue"
		followed = append(followed, reloader.Follow{Config: c.Config})
	}
	var mu sync.Mutex
	atOnce, most, got := 0, 0, 0
	full := make(chan struct{})
	looking := &tuning{f: &Forwarder{ForwardOptions: ForwardOptions{Cluster: "green"}, asked: map[string]time.Time{}, sights: newSights()}, h: hub, to: Following{
		Followed: func() []reloader.Follow { return followed },
		Received: func(reloader.Copy) {
			mu.Lock()
			atOnce, got = atOnce+1, got+1
			if most = max(most, atOnce); atOnce == looksAtOnce && got == looksAtOnce {
				close(full)
			}
			mu.Unlock()
			select {
			case <-full:
			case <-ctx.Done():
			}
			mu.Lock()
			atOnce--
			mu.Unlock()
		},
	}}
	if err := looking.round(ctx); err != nil || got != len(followed) || most != looksAtOnce {
		t.Errorf("%d of %d copies came, up to %d at once: %v", got, len(followed), most, err)
	}
}

// TestCopyIsToldAgainToWhoAsksAnew: the same words are another answer, by which a target knows that they hold now.
func TestCopyIsToldAgainToWhoAsksAnew(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	wants, got := make(chan reloader.Want, 100), make(chan reloader.Copy, 100)
	owner := inFleet(t, address, "blue", Following{
		Followed: func() []reloader.Follow { return nil }, Received: func(reloader.Copy) {}, Wanted: func(w reloader.Want) { wants <- w },
	})
	followed := config("flags.v2")
	followed.Cluster = "blue"
	var number atomic.Uint64
	number.Store(7)
	inFleet(t, address, "green", Following{
		Followed: func() []reloader.Follow { return []reloader.Follow{{Config: followed, Number: number.Load()}} },
		Received: func(c reloader.Copy) { got <- c }, Wanted: func(reloader.Want) {},
	})
	for _, n := range []uint64{7, 8} {
		number.Store(n)
		for asked := uint64(0); asked != n; {
			select {
			case w := <-wants:
				asked = w.Number(0)
			case <-testContext(t).Done():
				t.Fatalf("the owner is not asked with %d", n)
			}
		}
		c := copyNumbered(1)
		c.Answers = n
		owner.Send(c)
		select {
		case c := <-got:
			if c.Answers != n || c.Change.ID != "c-1" {
				t.Errorf("asked with %d, %+v came", n, c)
			}
		case <-testContext(t).Done():
			t.Fatalf("no answer to %d came", n)
		}
	}
}

// TestCopyThatIsEarlierIsNoNews: a server of the hub that lags must not bring back what was, and a stream that was made anew must be believed.
func TestCopyThatIsEarlierIsNoNews(t *testing.T) {
	seen := newSights()
	for i, step := range []struct {
		sequence uint64
		after    time.Duration
		stored   time.Time
		news     bool
	}{
		{10, 0, epoch, true},
		{9, time.Second, epoch, false},
		{10, 30 * time.Second, epoch, false},
		{9, 31 * time.Second, epoch, false},
		{9, 90 * time.Second, epoch, false},
		{11, 91 * time.Second, epoch, true},
		{2, 92 * time.Second, epoch, false},
		{2, 93 * time.Second, epoch, false},
		{2, 92*time.Second + lagTime, epoch, true},
		{2, 93*time.Second + lagTime, epoch, false},
		{1, 94*time.Second + lagTime, epoch.Add(time.Second), true}, // nobody lags who has something later
		{1, 95*time.Second + lagTime, epoch.Add(2 * time.Second), true},
	} {
		if got := seen.isNews("s", newest{sequence: step.sequence, stored: step.stored}, epoch.Add(step.after)); got != step.news {
			t.Errorf("step %d, sequence %d: news %v, want %v", i, step.sequence, got, step.news)
		}
	}
}

// TestCopyThatFailsGivesWay: while the hub does not answer, a newer copy takes the place of the one that is being stored.
func TestCopyThatFailsGivesWay(t *testing.T) {
	server := hubServer(t, t.TempDir(), -1)
	hub := newHub(open(t, Options{URL: server.ClientURL(), Role: RoleForward}))
	f, err := open(t, Options{}).NewForwarder(ForwardOptions{Hub: Options{URL: server.ClientURL()}, Cluster: "blue", UID: "uid", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	stopServer(server)
	f.Send(copyNumbered(1))
	done := make(chan error, 1)
	go func() { done <- f.send(testContext(t), hub) }()
	unsent := func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.unsent)
	}
	eventually(t, "the first is being stored", func() bool { return unsent() == 0 })
	f.Send(copyNumbered(2))
	if err := <-done; err == nil {
		t.Fatal("a hub that is gone has stored it")
	}
	for subject, c := range f.copies {
		if c.Change.ID != "c-2" {
			t.Errorf("%s is %s again", subject, c.Change.ID)
		}
	}
}
