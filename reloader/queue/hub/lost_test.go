package hub_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

// TestGaps: what a cluster dropped before it was forwarded, and the loss of its stream, are reported; what it dropped before it joined is not.
func TestGaps(t *testing.T) {
	url := natsserver.StartHub(t, []string{"c1"}).ClientURL()
	seen, dir := follow(t, url), t.TempDir()
	q := local(t, dir)
	drop := func(before uint64) {
		t.Helper()
		s, err := q.JS.Stream(t.Context(), queue.HistoryStream)
		if err == nil {
			err = s.Purge(t.Context(), jetstream.WithPurgeSequence(before))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	appendChanges(t, q, "c1", 0, 5)
	drop(3)
	_, end := member(t, q, url, "c1", "uid-1", hub.Following{})
	seen.has(t, "c1", 2, 5)
	end()
	appendChanges(t, q, "c1", 5, 10)
	drop(9)
	_, end = member(t, q, url, "c1", "uid-1", hub.Following{})
	seen.eventually(t, func() error {
		at := seen.positions["c1/HISTORY"]
		if len(at.Gaps) != 1 || at.Gaps[0].Lost || at.Gaps[0].Records != 3 || at.Gaps[0].After != 5 || len(seen.changes) != 5 {
			return fmt.Errorf("%+v, %d changes", at, len(seen.changes))
		}
		return nil
	})
	end()
	if err := q.JS.DeleteStream(t.Context(), queue.HistoryStream); err != nil {
		t.Fatal(err)
	}
	closeQueue(t, q)
	q = local(t, dir)
	appendChanges(t, q, "c1", 10, 12)
	member(t, q, url, "c1", "uid-1", hub.Following{})
	seen.eventually(t, func() error {
		at := seen.positions["c1/HISTORY"]
		if len(at.Gaps) != 2 || !at.Gaps[1].Lost || at.Sequence != 2 || len(seen.changes) != 7 {
			return fmt.Errorf("%+v, %d changes", at, len(seen.changes))
		}
		return nil
	})
}

// TestRemove: a cluster that is alive is not removed unless forced. Then the hub has nothing of it, its name is free for another cluster, and one that
// still runs sends everything again.
func TestRemove(t *testing.T) {
	url := natsserver.StartHub(t, []string{"c1", "c2"}).ClientURL()
	admin := natsserver.Login(t, url, natsserver.HubUser)
	seen, q := follow(t, url), local(t, t.TempDir())
	appendChanges(t, q, "c1", 0, 3)
	if err := q.PutClusterStatus(t.Context(), reloader.ClusterStatus{Cluster: "c1", Version: "v1", At: epoch}); err != nil {
		t.Fatal(err)
	}
	_, end := member(t, q, url, "c1", "uid-1", hub.Following{})
	seen.has(t, "c1", 0, 3)
	seen.eventually(t, func() error {
		if seen.statuses["c1"].Version != "v1" {
			return errors.New("the status is not there")
		}
		return nil
	})
	if err := hub.Remove(t.Context(), admin, "c1", false); !errors.Is(err, hub.ErrAlive) {
		t.Fatalf("removed a cluster that is alive: %v", err)
	}
	other := local(t, t.TempDir())
	appendChanges(t, other, "c1", 7, 9)
	_, endOther := member(t, other, url, "c1", "uid-other", hub.Following{})
	end()
	if err := hub.Remove(t.Context(), admin, "c1", true); err != nil {
		t.Fatal(err)
	}
	endOther() // it tries a name that is taken twice a minute
	member(t, other, url, "c1", "uid-other", hub.Following{})
	seen.has(t, "c1", 7, 9)
	seen.eventually(t, func() error {
		if at := seen.positions["c1/HISTORY"]; seen.resets == 0 || len(seen.statuses) > 0 || at.UID != "uid-other" || len(at.Gaps) > 0 {
			return fmt.Errorf("%d resets, %+v, %+v", seen.resets, seen.statuses, at)
		}
		return nil
	})
	if err := hub.Remove(t.Context(), admin, "c2", false); err != nil {
		t.Errorf("a cluster without records: %v", err)
	}
}
