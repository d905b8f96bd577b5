package hub_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

// TestForward: what a cluster has stored, and what follows, is at the hub once and in order, also with two processes that forward. The end of a workload's
// record and the newest status are there, and what is of the cluster alone is not.
func TestForward(t *testing.T) {
	s := natsserver.StartHub(t, []string{"c1", "c2"})
	url := s.ClientURL()
	seen := follow(t, url)
	q := local(t, t.TempDir())
	appendChanges(t, q, "c1", 0, 600)
	must(t, q.PutWorkload(t.Context(), reloader.WorkloadRecord{Cluster: "c1", Workload: web, UpdatedAt: epoch}))
	_, end := member(t, q, url, "c1", "uid-1", hub.Following{})
	member(t, q, url, "c1", "uid-1", hub.Following{})
	seen.has(t, "c1", 0, 600)
	appendChanges(t, q, "c1", 600, 650)
	end()
	appendChanges(t, q, "c1", 650, 700)
	seen.has(t, "c1", 0, 700)
	seen.eventually(t, func() error {
		if !seen.workloads["c1/Deployment/shop/web"] {
			return fmt.Errorf("no record of the workload")
		}
		return nil
	})
	must(t, q.DeleteWorkload(t.Context(), "c1", web))
	must(t, q.PutClusterStatus(t.Context(), reloader.ClusterStatus{Cluster: "c1", Version: "v9", At: epoch}))
	seen.eventually(t, func() error {
		if len(seen.workloads) > 0 || seen.statuses["c1"].Version != "v9" || time.Since(seen.statuses["c1"].StoredAt) > time.Minute {
			return fmt.Errorf("%v %+v", seen.workloads, seen.statuses)
		}
		return nil
	})
	info, err := streamOf(t, url, "STATE").Info(t.Context())
	if err != nil || info.State.NumSubjects != 3 {
		t.Errorf("%v: the hub has %d subjects of the state of the cluster, want those of a workload, a status and a position", err, info.State.NumSubjects)
	}
	if at := seen.positions["c1/HISTORY"]; len(at.Gaps) > 0 || at.Sequence != 700 || at.UID != "uid-1" {
		t.Errorf("the position is %+v", at)
	}
}

// hears collects what a cluster is told.
type hears struct {
	copies chan reloader.Copy
	wants  chan reloader.Want
}

func (h hears) following(followed func() []reloader.Follow) hub.Following {
	return hub.Following{
		Followed: followed, Received: func(c reloader.Copy) { h.copies <- c }, Wanted: func(w reloader.Want) { h.wants <- w },
	}
}

func newHears() hears { return hears{make(chan reloader.Copy, 100), make(chan reloader.Want, 100)} }

func next[T any](t *testing.T, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
	}
	return got
}

func nothing() []reloader.Follow { return nil }

// TestFollow: c2 asks c1 for a config, and c1 answers; what comes while c2 is away is delivered when it is back. A copy that another cluster writes in
// the name of c1 is not believed.
func TestFollow(t *testing.T) {
	url := natsserver.StartHub(t, []string{"c1", "c2", "c3"}).ClientURL()
	followed := flags
	followed.Cluster = "c1"
	owner, target := newHears(), newHears()
	c1, _ := member(t, local(t, t.TempDir()), url, "c1", "uid-1", owner.following(nothing))
	asks := func() []reloader.Follow { return []reloader.Follow{{Config: followed, Number: 7}} }
	store := local(t, t.TempDir())
	_, endC2 := member(t, store, url, "c2", "uid-2", target.following(asks))
	if w := next(t, owner.wants); len(w.Configs) != 1 || w.Configs[0] != (reloader.Follow{Config: flags, Number: 7}) || w.Target != "c2" {
		t.Fatalf("c1 was asked for %+v", w)
	}
	told := reloader.Copy{Owner: "c1", Target: "c2", Config: flags, Change: change("c1", 1), Answers: 7, At: epoch}
	told.Change.Config = flags
	c1.Send(told)
	if c := next(t, target.copies); c.Change.ID != told.Change.ID {
		t.Fatalf("c2 was told %+v", c)
	}
	endC2()
	forge(t, url)
	told.At, told.Refused = epoch.Add(time.Second), "not any more"
	c1.Send(told)
	member(t, store, url, "c2", "uid-2", target.following(nothing))
	if c := next(t, target.copies); c.Refused != told.Refused || c.Owner != "c1" {
		t.Errorf("c2 was told %+v", c)
	}
}

// forge has c3 write a copy for c2 that claims to be from c1.
func forge(t *testing.T, url string) {
	t.Helper()
	c, err := queue.Dial(natsserver.Login(t, url, "c3"))
	must(t, err)
	defer c.NATS.Close()
	data, err := reloader.Encode(reloader.Copy{Owner: "c1", Target: "c2", Config: flags, Refused: "forged", At: epoch})
	must(t, err)
	if _, err := c.JS.PublishMsg(t.Context(), &nats.Msg{Subject: "hub.reroll.copy.c3.c2.configmap.shop.flags.v2", Data: data}); err != nil {
		t.Fatal(err)
	}
}

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
		must(t, err)
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
	must(t, q.JS.DeleteStream(t.Context(), queue.HistoryStream))
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

// TestRemove: the hub has nothing of a cluster that was removed, and one that waits for its name gets it without a restart.
func TestRemove(t *testing.T) {
	url := natsserver.StartHub(t, []string{"c1", "c2"}).ClientURL()
	admin := natsserver.Login(t, url, natsserver.HubUser)
	seen, q := follow(t, url), local(t, t.TempDir())
	appendChanges(t, q, "c1", 0, 3)
	must(t, q.PutClusterStatus(t.Context(), reloader.ClusterStatus{Cluster: "c1", Version: "v1", At: epoch}))
	_, end := member(t, q, url, "c1", "uid-1", hub.Following{})
	seen.has(t, "c1", 0, 3)
	seen.eventually(t, func() error {
		if seen.statuses["c1"].Version != "v1" {
			return errors.New("the status is not there")
		}
		return nil
	})
	other := local(t, t.TempDir())
	appendChanges(t, other, "c1", 7, 9)
	member(t, other, url, "c1", "uid-other", hub.Following{})
	end()
	must(t, hub.Remove(t.Context(), admin, "c1"))
	seen.has(t, "c1", 7, 9)
	seen.eventually(t, func() error {
		if at := seen.positions["c1/HISTORY"]; seen.resets == 0 || len(seen.statuses) > 0 || at.UID != "uid-other" || len(at.Gaps) > 0 {
			return fmt.Errorf("%d resets, %+v, %+v", seen.resets, seen.statuses, at)
		}
		return nil
	})
	if err := hub.Remove(t.Context(), admin, "c2"); err != nil {
		t.Errorf("a cluster without records: %v", err)
	}
}
