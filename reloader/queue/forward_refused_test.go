//go:build nightly

package queue

import (
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/reloader"
)

// TestForwardToAHubOnWhichNothingExpires: one that was set up while its server was an older one refuses what is to expire, for good.
func TestForwardToAHubOnWhichNothingExpires(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	at := open(t, Options{URL: address, Role: RoleHubAdmin})
	stream, err := at.js.Stream(testContext(t), workloadsStream)
	if err != nil {
		t.Fatal(err)
	}
	older := stream.CachedInfo().Config
	older.AllowMsgTTL, older.SubjectDeleteMarkerTTL = false, 0
	if err := at.js.DeleteStream(testContext(t), workloadsStream); err != nil {
		t.Fatal(err)
	}
	if _, err := at.js.CreateStream(testContext(t), older); err != nil {
		t.Fatal(err)
	}
	q := open(t, Options{})
	roll(t, q, 1)
	if err := q.DeleteWorkload(testContext(t), "blue", reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "cart-1"}); err != nil {
		t.Fatal(err)
	}
	roll(t, q, 2)
	var log text
	forwarding(t, q, address, "uid-1", &log)
	arrives(t, q, address)
	if strings.Contains(log.String(), "interrupted") {
		t.Errorf("it was refused:\n%s", log.String())
	}
}

// TestForwardWithoutTheRightToListen: who may not hear what clusters tell each other still brings records, in one session.
func TestForwardWithoutTheRightToListen(t *testing.T) {
	p, err := PermissionsOf(RoleForward, "blue")
	if err != nil {
		t.Fatal(err)
	}
	may := &server.Permissions{Publish: &server.SubjectPermission{}, Subscribe: &server.SubjectPermission{Allow: []string{p.InboxPrefix + ".>"}}}
	for _, one := range p.Publish {
		may.Publish.Allow = append(may.Publish.Allow, one.Subject)
	}
	s := external(t, t.TempDir(), -1, func(o *server.Options) {
		o.Users = []*server.User{{Username: "admin", Password: "admin"}, {Username: "reroll", Password: "reroll", Permissions: may}}
	})
	admin := "nats://admin:admin@" + s.Addr().String()
	if _, err := Setup(testContext(t), Options{URL: admin, Logger: quiet(), MaxStore: testStore}, Layout{Hub: true}, false); err != nil {
		t.Fatal(err)
	}
	q := open(t, Options{})
	edit(t, q, "a", 0, 1)
	var log text
	hub := Options{URL: "nats://reroll:reroll@" + s.Addr().String(), InboxPrefix: p.InboxPrefix}
	copies := make(chan reloader.Copy, 10)
	followed := reloader.Follow{Config: reloader.Config{Cluster: "blue", Kind: reloader.ConfigMap, Namespace: "shop", Name: "flags.v2"}}
	f := inFleetFrom(t, q, ForwardOptions{Hub: hub, Cluster: "blue", UID: "uid-1", Logger: loggerTo(&log)}, Following{
		Followed: func() []reloader.Follow { return []reloader.Follow{followed} }, Received: func(c reloader.Copy) { copies <- c }, Wanted: func(reloader.Want) {},
	})
	c := copyNumbered(1)
	c.Target = "blue"
	f.Send(c)
	eventually(t, "a copy that nobody told of", func() bool { return len(copies) > 0 })
	arrives(t, q, admin)
	for _, unwanted := range []string{"interrupted", "not set up", "inbox"} {
		if strings.Contains(log.String(), unwanted) {
			t.Errorf("the log says %q:\n%s", unwanted, log.String())
		}
	}
	if want := "the role forward needs that, to hear what other clusters follow"; !strings.Contains(log.String(), want) {
		t.Errorf("nobody is told that %s:\n%s", want, log.String())
	}
}

// TestForwardTellsOfWhatAgedOutLast: also if nothing came since, and once.
func TestForwardTellsOfWhatAgedOutLast(t *testing.T) {
	dir := t.TempDir()
	hub := hubServer(t, dir, -1)
	address := hub.ClientURL()
	sight := hubSight(t, address)
	q := open(t, Options{})
	stop := forwarding(t, q, address, "uid-1", nil)
	roll(t, q, 0)
	eventually(t, "the position", func() bool { return sight().Positions[reloader.ReloadRecords].Sequence == 1 })
	stopServer(hub)
	const missing = 12
	for n := range missing {
		roll(t, q, n+1)
	}
	stream, err := q.js.Stream(testContext(t), reloadsStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(testContext(t)); err != nil {
		t.Fatal(err)
	}
	hubServer(t, dir, hubPort(t, address))
	want := reloader.Gap{Kind: reloader.ReloadRecords, Why: reloader.GapAgedOut, After: 1, Records: missing}
	told := func() bool {
		gaps := sight().Gaps
		if len(gaps) != 1 {
			return false
		}
		got := gaps[0]
		got.At = want.At
		return got == want
	}
	eventually(t, "the gap", told)
	stop()
	forwarding(t, q, address, "uid-1", nil)
	roll(t, q, 1)
	eventually(t, "the position", func() bool { return sight().Positions[reloader.ReloadRecords].Sequence == missing+2 })
	if !told() {
		t.Errorf("the gap is told again: %+v", sight().Gaps)
	}
}

// TestForwardToAHubThatIsNew: what a cluster had dropped before it was told to bring its records is not missing there, and what it drops then is.
func TestForwardToAHubThatIsNew(t *testing.T) {
	dir := t.TempDir()
	hub := hubServer(t, dir, -1)
	address := hub.ClientURL()
	sight := hubSight(t, address)
	q := open(t, Options{})
	edit(t, q, "quiet", 0, 0)
	last := uint64(0)
	more := func(n int) {
		for range n {
			last = edit(t, q, "busy", last, int(last))
		}
	}
	more(changesPerConfig + 10)
	forwarding(t, q, address, "uid-1", nil)
	eventually(t, "the position", func() bool { return sight().Positions[reloader.ChangeRecords].Sequence == last })
	if gaps := sight().Gaps; len(gaps) > 0 {
		t.Errorf("gaps of what was gone before: %+v", gaps)
	}
	stopServer(hub)
	more(changesPerConfig + 5)
	hubServer(t, dir, hubPort(t, address))
	eventually(t, "the gap", func() bool { return len(sight().Gaps) == 1 && sight().Gaps[0].Records == 5 })
}
