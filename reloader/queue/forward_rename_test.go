package queue

import (
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

// namedBefore has a store know the cluster under another name, under which it has n changes of a config.
func namedBefore(t *testing.T, q *Queue, name string, n int) {
	t.Helper()
	if err := q.BindCluster(testContext(t), name, "uid-1"); err != nil {
		t.Fatal(err)
	}
	if err := q.PutClusterStatus(testContext(t), status(name, "v1")); err != nil {
		t.Fatal(err)
	}
	if err := q.BindCluster(testContext(t), "blue", "uid-1"); err != nil { // as it is called in these tests
		t.Fatal(err)
	}
	last := uint64(0)
	for i := range n {
		c := change("old", string(rune('a'+i)))
		c.Cluster = name
		var err error
		if last, err = q.AppendChange(testContext(t), c, last); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForwardCountsAfterARename: what a cluster has stored under the name that it had before is not missing at the hub, and what is dropped
// under the new one is.
func TestForwardCountsAfterARename(t *testing.T) {
	dir := t.TempDir()
	hub := hubServer(t, dir, -1)
	address := hub.ClientURL()
	sight := hubSight(t, address)
	q := open(t, Options{})
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
