package hub_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
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
	if err := q.PutWorkload(t.Context(), reloader.WorkloadRecord{Cluster: "c1", Workload: web, UpdatedAt: epoch}); err != nil {
		t.Fatal(err)
	}
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
	if err := q.DeleteWorkload(t.Context(), "c1", web); err != nil {
		t.Fatal(err)
	}
	if err := q.PutClusterStatus(t.Context(), reloader.ClusterStatus{Cluster: "c1", Version: "v9", At: epoch}); err != nil {
		t.Fatal(err)
	}
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
