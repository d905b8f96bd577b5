//go:build nightly

package queue

import (
	"errors"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/reloader"
)

// TestForwardCountsAfterARename: what a cluster has stored under the name that it had before is not missing at the hub, and what is dropped
// under the new one is.
func TestForwardCountsAfterARename(t *testing.T) {
	for name, options := range map[string]func() Options{
		"a NATS of its own": func() Options { return Options{} },
		"an external NATS":  func() Options { return Options{URL: external(t, t.TempDir(), -1, nil).ClientURL()} },
	} {
		t.Run(name, func(t *testing.T) { countsAfterARename(t, options()) })
	}
}

func countsAfterARename(t *testing.T, o Options) {
	t.Helper()
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	sight := hubSight(t, address)
	q := open(t, o)
	namedBefore(t, q, "local", 5)
	stop := forwarding(t, q, address, "uid-1", nil)
	last := edit(t, q, "busy", 0, 0)
	told := func() bool { return sight().Positions[reloader.ChangeRecords].Sequence == last }
	eventually(t, "the position", told)
	stop()
	namedBefore(t, q, "interim", 7) // and back to the name that the hub knows
	last = edit(t, q, "busy", last, 1)
	stop = forwarding(t, q, address, "uid-1", nil)
	eventually(t, "the position", told)
	if gaps := sight().Gaps; len(gaps) > 0 {
		t.Errorf("gaps where nothing is missing: %+v", gaps)
	}
	stop()
	const beyond = 20
	for n := range changesPerConfig + beyond {
		last = edit(t, q, "busy", last, n+2)
	}
	forwarding(t, q, address, "uid-1", nil)
	eventually(t, "the position", told)
	gaps := sight().Gaps
	if len(gaps) != 1 || gaps[0].Why != reloader.GapAgedOut || gaps[0].Records != beyond {
		t.Errorf("%d changes are missing, and these are the gaps: %+v", beyond, gaps)
	}
}

// TestForwardTellsNoGapsWhereOthersStore: what lies between the records of a cluster may be another one's, which is known by its UID; and who may
// not look takes it for that.
func TestForwardTellsNoGapsWhereOthersStore(t *testing.T) {
	for name, c := range map[string]struct {
		uid  string
		deny []string
	}{
		"another cluster":         {"uid-2", nil},
		"no right to see the UID": {"uid-1", []string{"$JS.API.DIRECT.GET.KV_reroll_clusters.$KV.reroll_clusters.other"}},
		"no right to look":        {"uid-1", []string{"$JS.API.STREAM.MSG.GET.>"}},
	} {
		t.Run(name, func(t *testing.T) {
			admin, user := restricted(t, &server.SubjectPermission{Deny: c.deny})
			q := open(t, Options{URL: admin})
			err := errors.Join(q.BindCluster(testContext(t), "blue", "uid-1"), q.BindCluster(testContext(t), "other", c.uid),
				q.PutClusterStatus(testContext(t), status("other", "v1")))
			if err != nil {
				t.Fatal(err)
			}
			address := hubServer(t, t.TempDir(), -1).ClientURL()
			sight := hubSight(t, address)
			first := edit(t, q, "quiet", 0, 0)
			last := uint64(0)
			told := func() bool { return sight().Positions[reloader.ChangeRecords].Sequence == max(first, last) }
			as := open(t, Options{URL: user, InboxPrefix: "_INBOX_reroll"})
			stop := forwarding(t, as, address, "uid-1", nil)
			eventually(t, "the position", told)
			stop()
			for n := range changesPerConfig + 20 {
				last = edit(t, q, "busy", last, n)
			}
			forwarding(t, as, address, "uid-1", nil)
			eventually(t, "the position", told)
			if gaps := sight().Gaps; len(gaps) > 0 {
				t.Errorf("gaps of what may be another one's: %+v", gaps)
			}
		})
	}
}

// TestForwardTellsNoGapsWhereAnEarlierNameStillStores: a process of before still runs, or a second installation in the same cluster.
func TestForwardTellsNoGapsWhereAnEarlierNameStillStores(t *testing.T) {
	for name, uid := range map[string]string{"an earlier name": "uid-1", "a cluster that came later": "uid-2"} {
		t.Run(name, func(t *testing.T) {
			q := open(t, Options{URL: external(t, t.TempDir(), -1, nil).ClientURL()})
			address := hubServer(t, t.TempDir(), -1).ClientURL()
			sight := hubSight(t, address)
			namedBefore(t, q, "local", 1)
			forwarding(t, q, address, "uid-1", nil)
			last := edit(t, q, "a", 0, 0)
			told := func() bool { return sight().Positions[reloader.ChangeRecords].Sequence == last }
			eventually(t, "the position", told)
			if err := q.BindCluster(testContext(t), "other", uid); err != nil {
				t.Fatal(err)
			}
			theirs := uint64(0)
			for n := range 5 {
				c := change("b", string(rune('a'+n)))
				c.Cluster = "other"
				theirs = appendChange(t, q, c, theirs)
			}
			last = edit(t, q, "a", last, 1)
			eventually(t, "the position", told)
			if gaps := sight().Gaps; len(gaps) > 0 {
				t.Errorf("gaps of what another name has stored: %+v", gaps)
			}
		})
	}
}

// TestForwardBeginsAfterTheRecordsOfAnEarlierName: nothing was stored under the new one when the hub was first reached, and the old ones go
// before something is.
func TestForwardBeginsAfterTheRecordsOfAnEarlierName(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	sight := hubSight(t, address)
	q := open(t, Options{})
	namedBefore(t, q, "local", 5)
	stop := forwarding(t, q, address, "uid-1", nil)
	eventually(t, "the position", func() bool { return sight().Positions[reloader.ChangeRecords].Stream != "" })
	stop()
	stream, err := q.js.Stream(testContext(t), changesStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(testContext(t)); err != nil {
		t.Fatal(err)
	}
	last := edit(t, q, "busy", 0, 0)
	forwarding(t, q, address, "uid-1", nil)
	eventually(t, "the position", func() bool { return sight().Positions[reloader.ChangeRecords].Sequence == last })
	if gaps := sight().Gaps; len(gaps) > 0 {
		t.Errorf("gaps where nothing is missing: %+v", gaps)
	}
}
