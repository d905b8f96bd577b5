//go:build nightly

package queue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

// follower follows configs of blue in green until the end of the test, and returns the IDs of the changes that come.
func follower(t *testing.T, hub string, log *text, names ...string) (*Forwarder, chan string) {
	t.Helper()
	var followed []reloader.Follow
	for _, name := range names {
		c := config(name)
		c.Cluster = "blue"
		followed = append(followed, reloader.Follow{Config: c})
	}
	got := make(chan string, 10_000)
	f := inFleetLogged(t, hub, "green", loggerTo(log), Following{
		Followed: func() []reloader.Follow { return followed }, Received: func(c reloader.Copy) { got <- c.Change.ID }, Wanted: func(reloader.Want) {},
	})
	return f, got
}

// tellCopy has blue tell green of a change of a config.
func tellCopy(t *testing.T, h *hub, name, id string) {
	t.Helper()
	c := reloader.Copy{Owner: "blue", Target: "green", Config: config(name), Change: reloader.Change{ID: id}, At: epoch}
	subject, err := copySubject(c)
	if err == nil {
		err = h.putCopy(testContext(t), subject, c)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func nextCopy(t *testing.T, got <-chan string) string {
	t.Helper()
	select {
	case id := <-got:
		return id
	case <-testContext(t).Done():
		t.Fatal("no copy came")
		return ""
	}
}

// TestCopyThatIsEarlierIsNoNewsAfterACut: it is then that another server of the hub answers, with what it had.
func TestCopyThatIsEarlierIsNoNewsAfterACut(t *testing.T) {
	dir := t.TempDir()
	server := hubServer(t, dir, -1)
	address := server.ClientURL()
	own := func() *hub { return newHub(open(t, Options{URL: address, Role: RoleForward})) }
	var log text
	f, got := follower(t, address, &log, "flags", "other")
	tellCopy(t, own(), "flags", "first")
	if id := nextCopy(t, got); id != "first" {
		t.Fatalf("got %s", id)
	}
	stopServer(server)
	aside := keptAside(t, dir)
	server = hubServer(t, dir, hubPort(t, address))
	tellCopy(t, own(), "flags", "second")
	if id := nextCopy(t, got); id != "second" {
		t.Fatalf("got %s", id)
	}
	sessions := strings.Count(log.String(), "forwarding to the hub")
	stopServer(server)
	f.PutStatus(reloader.ClusterStatus{Cluster: "green", UID: "uid-green"}) // which cannot be told, so that the session ends
	eventually(t, "the end of the session", func() bool { return strings.Contains(log.String(), "forwarding was interrupted") })
	hubServer(t, aside, hubPort(t, address))
	eventually(t, "another session", func() bool { return strings.Count(log.String(), "forwarding to the hub") > sessions })
	for _, id := range []string{"a", "b"} { // when the second comes, all copies have been looked for
		tellCopy(t, own(), "other", id)
		if next := nextCopy(t, got); next != id {
			t.Errorf("%s came, want %s", next, id)
		}
	}
}

// TestCopiesThatNobodyFollowsAreNotLookedAt: a cluster may tell another one whatever it likes, and none of it adds up there.
func TestCopiesThatNobodyFollowsAreNotLookedAt(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	h := newHub(open(t, Options{URL: address, Role: RoleForward}))
	var log text
	f, got := follower(t, address, &log, "flags")
	tellCopy(t, h, "flags", "first")
	if id := nextCopy(t, got); id != "first" {
		t.Fatalf("got %s", id)
	}
	for n := range 300 {
		tellCopy(t, h, fmt.Sprint("c-", n), "of no interest")
	}
	tellCopy(t, h, "flags", "second")
	if id := nextCopy(t, got); id != "second" {
		t.Errorf("%s came", id)
	}
	f.sights.mu.Lock()
	defer f.sights.mu.Unlock()
	if n := len(f.sights.seen); n != 1 {
		t.Errorf("%d copies are remembered", n)
	}
}

func TestCopiesOfWhatIsNotFollowedAnyMoreAreForgotten(t *testing.T) {
	s := newSights()
	for n := range 10 {
		subject := fmt.Sprint("s-", n)
		if !s.isNews(subject, newest{sequence: 10}, epoch) || s.isNews(subject, newest{sequence: 9}, epoch) {
			t.Fatalf("%s is not remembered", subject)
		}
	}
	s.keep(map[string]struct{}{"s-3": {}})
	if len(s.seen) != 1 || len(s.earlier) != 1 || s.isNews("s-3", newest{sequence: 9}, epoch) {
		t.Errorf("%d copies are remembered, and %d earlier ones", len(s.seen), len(s.earlier))
	}
}
