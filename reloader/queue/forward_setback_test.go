//go:build nightly

package queue

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// keptAside returns a copy of the files of a server that does not run.
func keptAside(t *testing.T, dir string) string {
	t.Helper()
	aside := t.TempDir()
	if err := os.CopyFS(aside, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return aside
}

// TestForwardBringsAgainWhatAHubThatWasSetBackForgot: a backup was restored there, or the power failed before its disk had everything. The
// forwarder remembers that it has brought more, and what it remembers does not count.
func TestForwardBringsAgainWhatAHubThatWasSetBackForgot(t *testing.T) {
	for name, duringCut := range map[string]bool{"a session that lives on": false, "a new session": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			hub := hubServer(t, dir, -1)
			address := hub.ClientURL()
			sight := hubSight(t, address)
			q := open(t, Options{})
			var log text
			forwarding(t, q, address, "uid-1", &log)
			last := map[string]uint64{}
			change := func(name string, n int) { last[name] = edit(t, q, name, last[name], n) }
			told := func() {
				t.Helper()
				arrives(t, q, address)
				eventually(t, "the position", func() bool {
					return sight().Positions[reloader.ChangeRecords].Sequence == max(last["a"], last["b"])
				})
			}
			change("a", 1)
			roll(t, q, 1)
			told()
			stopServer(hub)
			aside := keptAside(t, dir)
			hub = hubServer(t, dir, hubPort(t, address))
			for n := range 3 {
				change("a", n+2)
			}
			change("b", 1)
			roll(t, q, 1)
			told()
			stopServer(hub)
			if duringCut {
				change("a", 5)
				eventually(t, "the end of the session", func() bool { return strings.Contains(log.String(), "forwarding was interrupted") })
			}
			before := strings.Count(log.String(), "connected to NATS again")
			hubServer(t, aside, hubPort(t, address))
			eventually(t, "the connection to come back", func() bool {
				return strings.Count(log.String(), "connected to NATS again") > before || strings.Count(log.String(), "forwarding to the hub") > 1
			})
			change("a", 6)
			arrives(t, q, address)
			if gaps := sight().Gaps; len(gaps) > 0 {
				t.Errorf("gaps where nothing is missing: %+v", gaps)
			}
		})
	}
}

// TestForwardTellsOfWhatAHubThatWasSetBackCannotGetAgain: it had been brought, and has been dropped here since.
func TestForwardTellsOfWhatAHubThatWasSetBackCannotGetAgain(t *testing.T) {
	dir := t.TempDir()
	hub := hubServer(t, dir, -1)
	address := hub.ClientURL()
	sight := hubSight(t, address)
	q := open(t, Options{})
	forwarding(t, q, address, "uid-1", nil)
	last := edit(t, q, "busy", 0, 0)
	told := func() bool { return sight().Positions[reloader.ChangeRecords].Sequence == last }
	eventually(t, "the position", told)
	stopServer(hub)
	aside := keptAside(t, dir)
	hub = hubServer(t, dir, hubPort(t, address))
	const beyond = 20
	for n := range changesPerConfig + beyond {
		last = edit(t, q, "busy", last, n+1)
	}
	at := open(t, Options{URL: address, Role: RoleHubAdmin})
	eventually(t, "the last", func() bool {
		m, err := newHub(at).last(testContext(t), changesStream, "reroll.change.blue.configmap.shop.busy")
		return err == nil && m.origin.sequence == last
	})
	eventually(t, "the position", told)
	missing := func() (n uint64) {
		for _, gap := range sight().Gaps {
			n += gap.Records
		}
		return n
	}
	stopServer(hub)
	last = edit(t, q, "busy", last, 1)
	hubServer(t, aside, hubPort(t, address))
	eventually(t, "the gap", func() bool { return told() && missing() == beyond+1 })
}

// TestForwardBringsAllAnewToWhoAsksForIt: that is what the deletion of the status at the hub says, while the forwarder is connected.
func TestForwardBringsAllAnewToWhoAsksForIt(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	sight := hubSight(t, address)
	q := open(t, Options{})
	forwarding(t, q, address, "uid-1", nil)
	last := edit(t, q, "a", 0, 1)
	last = edit(t, q, "a", last, 2)
	arrives(t, q, address)
	eventually(t, "the position", func() bool { return sight().Positions[reloader.ChangeRecords].Sequence == last })
	at := open(t, Options{URL: address, Role: RoleHubAdmin})
	stream, err := at.js.Stream(testContext(t), changesStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(testContext(t)); err != nil {
		t.Fatal(err)
	}
	bucket, err := at.js.KeyValue(testContext(t), clustersBucket)
	if err != nil {
		t.Fatal(err)
	}
	if err := bucket.Delete(testContext(t), "blue."+statusToken); err != nil {
		t.Fatal(err)
	}
	edit(t, q, "b", 0, 1)
	arrives(t, q, address)
	eventually(t, "the status", func() bool { return len(sight().Positions) > 0 })
}

// TestForwardDoublesNothingOfAClusterThatWasSetBackItself: its records up to there are those that the hub has from before, also when all are brought
// again since the hub has lost some.
func TestForwardDoublesNothingOfAClusterThatWasSetBackItself(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	sight := hubSight(t, address)
	at := func() reloader.Position { return sight().Positions[reloader.ChangeRecords] }
	dir := t.TempDir()
	local := external(t, dir, -1, nil)
	q := open(t, Options{URL: local.ClientURL()})
	edit(t, q, "a", edit(t, q, "a", 0, 1), 2)
	stopServer(local)
	aside := keptAside(t, dir)
	local = external(t, dir, -1, nil)
	q = open(t, Options{URL: local.ClientURL()})
	last := edit(t, q, "lost", 0, 1)
	stop := forwarding(t, q, address, "uid-1", nil)
	eventually(t, "the position", func() bool { return at().Sequence == last })
	stop()
	q = open(t, Options{URL: external(t, aside, -1, nil).ClientURL()})
	forwarding(t, q, address, "uid-1", nil)
	eventually(t, "that it was set back", func() bool { return strings.HasSuffix(at().Stream, "+2") })
	last = edit(t, q, "b", 0, 1)
	eventually(t, "the position", func() bool { return at().Sequence == last })
	hub := open(t, Options{URL: address, Role: RoleHubAdmin})
	if _, err := hub.purge(testContext(t), changesStream, "reroll.change.blue.configmap.shop.b", 0); err != nil {
		t.Fatal(err)
	}
	last = edit(t, q, "b", last, 2)
	eventually(t, "the position", func() bool { return at().Sequence == last && at().Withdrawn > 0 })
	want, got := contents(t, q.js, changesStream), contents(t, hub.js, changesStream)
	delete(got, "reroll.change.blue.configmap.shop.lost")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the hub has (-want +got):\n%s", diff)
	}
}
