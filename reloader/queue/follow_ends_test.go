//go:build nightly

package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// keptCopies returns the targets of the copies that a forwarder keeps.
func keptCopies(f *Forwarder) (targets []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.copies {
		targets = append(targets, c.Target)
	}
	slices.Sort(targets)
	return targets
}

// TestNothingIsToldAnewToWhoWasRemoved: an owner that lives on hears of it, and forgets what it kept for the cluster, so that it does not bring it
// again when it next reaches the hub. What it keeps for others stays.
func TestNothingIsToldAnewToWhoWasRemoved(t *testing.T) {
	dir := t.TempDir()
	hub := hubServer(t, dir, -1)
	address := hub.ClientURL()
	wants := make(chan reloader.Want, 100)
	owner := inFleet(t, address, "blue", Following{
		Followed: func() []reloader.Follow { return nil }, Received: func(reloader.Copy) {}, Wanted: func(w reloader.Want) { wants <- w },
	})
	settle(t, address, "green", "blue") // which also asks blue for something
	red := copyNumbered(1)
	red.Target = "red"
	owner.Send(copyNumbered(1))
	owner.Send(red)
	at := open(t, Options{URL: address, Role: RoleHubAdmin})
	of := func(target string) func() bool {
		return func() bool {
			return slices.ContainsFunc(holds(t, at.js), func(subject string) bool { return strings.HasPrefix(subject, "reroll.follow.blue."+target) })
		}
	}
	eventually(t, "the copies", func() bool { return of("green")() && of("red")() })
	if _, err := remove(t, address, Removal{Cluster: "green"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of what it wants", func() bool { return slices.Equal(keptCopies(owner), []string{"red"}) })
	for last := (reloader.Want{}); last.Target != "green" || len(last.Configs) > 0; {
		select {
		case last = <-wants:
		case <-testContext(t).Done():
			t.Fatal("the dispatcher of the owner is not told")
		}
	}
	for _, subject := range holds(t, at.js) {
		if strings.HasPrefix(subject, followPrefix+".") && strings.Contains(subject, "green") || strings.HasPrefix(subject, wantPrefix+".blue.green") {
			t.Errorf("the hub has %s", subject)
		}
	}
	stopServer(hub)
	hubServer(t, t.TempDir(), hubPort(t, address)) // empty, so that everything is brought anew
	at = open(t, Options{URL: address, Role: RoleHubAdmin})
	eventually(t, "what is kept for others", of("red"))
	marker := copyNumbered(2)
	marker.Target = "yellow"
	owner.Send(marker) // which is stored after all that was kept
	eventually(t, "what is told next", of("yellow"))
	if of("green")() {
		t.Error("the removed cluster was told again")
	}
}

// TestRemoveWithThePermissionsOfBefore: who may not speak for the cluster removes it all the same.
func TestRemoveWithThePermissionsOfBefore(t *testing.T) {
	admin, user := restricted(t, &server.SubjectPermission{Deny: []string{wantPrefix + ".>"}})
	if _, err := Setup(testContext(t), Options{URL: admin, Logger: quiet(), MaxStore: testStore}, Layout{Hub: true}, false); err != nil {
		t.Fatal(err)
	}
	settle(t, admin, "green", "blue")
	settle(t, admin, "blue", "green")
	var log text
	steps, err := RemoveFromHub(testContext(t), Options{URL: user, Role: RoleHubAdmin, InboxPrefix: "_INBOX_reroll", Logger: loggerTo(&log)}, Removal{Cluster: "green"})
	if err != nil || !slices.Contains(brief(steps), "name green: freed") {
		t.Errorf("it did %q: %v", brief(steps), err)
	}
	if !strings.Contains(log.String(), "owners could not be told") {
		t.Errorf("it is not said: %s", log.String())
	}
}

// TestRemoveTellsWhoIsThere: whoever may set a label names any number of owners. Those that the hub does not know hold up nothing.
func TestRemoveTellsWhoIsThere(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	settle(t, address, "blue", "green")
	settle(t, address, "green", "blue")
	at := open(t, Options{URL: address, Role: RoleHubAdmin})
	for n := range 5000 {
		if _, err := at.js.PublishAsync(fmt.Sprintf("%s.made-up-%d.green", wantPrefix, n), nil, jetstream.WithStallWait(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	<-at.js.PublishAsyncComplete()
	told := make(chan *nats.Msg, 10_000)
	_, err := at.nc.ChanSubscribe(toldPrefix+"."+wantPrefix+".*.green", told)
	if err := errors.Join(err, at.nc.Flush()); err != nil {
		t.Fatal(err)
	}
	if _, err := remove(t, address, Removal{Cluster: "green"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the word to the owner", func() bool { return len(told) > 0 })
	for _, subject := range holds(t, at.js) {
		if strings.HasPrefix(subject, wantPrefix+".made-up") {
			t.Fatalf("the hub has %s", subject)
		}
	}
	if n := len(told); n != 1 {
		t.Errorf("%d owners are told, and one is there", n)
	}
}

// TestRemoveFromAHubThatTakesNoWants: owners that cannot be told keep nobody from removing a cluster.
func TestRemoveFromAHubThatTakesNoWants(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	settle(t, address, "blue", "green")
	settle(t, address, "green", "blue")
	at := open(t, Options{URL: address, Role: RoleHubAdmin})
	follows, err := at.js.Stream(testContext(t), followsStream)
	if err != nil {
		t.Fatal(err)
	}
	o := follows.CachedInfo().Config
	o.MaxMsgSize = 1
	if _, err := at.js.UpdateStream(testContext(t), o); err != nil {
		t.Fatal(err)
	}
	steps, err := remove(t, address, Removal{Cluster: "green"})
	if err != nil || !slices.Contains(brief(steps), "name green: freed") {
		t.Errorf("it did %q: %v", brief(steps), err)
	}
}

// TestCopiesForTheSilentAreForgotten: whoever has not asked for a day is told nothing more.
func TestCopiesForTheSilentAreForgotten(t *testing.T) {
	f, err := open(t, Options{}).NewForwarder(ForwardOptions{Hub: Options{URL: "nats://127.0.0.1:1"}, Cluster: "blue", UID: "u", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, target := range []string{"green", "red"} {
		for n := range 2 {
			f.Send(reloader.Copy{Owner: "blue", Target: target, Config: config(fmt.Sprint("c-", n)), Refused: "not yours", At: now})
		}
	}
	f.dropCopies(reloader.Want{Owner: "blue", Target: "red", Configs: []reloader.Config{config("c-0")}}, now.Add(2*time.Hour))
	f.mu.Lock()
	f.dropSilent(now.Add(askedTime + time.Hour))
	f.mu.Unlock()
	if kept, unsent := keptCopies(f), len(f.takeUnsent()); !slices.Equal(kept, []string{"red"}) || unsent != 1 {
		t.Errorf("copies for %q are kept, and %d of them to be sent", kept, unsent)
	}
}
