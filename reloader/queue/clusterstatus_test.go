package queue

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/reloader"
)

func status(cluster, version string) reloader.ClusterStatus {
	return reloader.ClusterStatus{Cluster: cluster, Version: version, StartedAt: epoch, At: epoch, Workloads: 3}
}

// statuses follows q and collects the versions of the statuses that come.
func statuses(t *testing.T, q *Queue) func() []string {
	t.Helper()
	var mu sync.Mutex
	var got []string
	go func() {
		_ = q.Follow(t.Context(), Followed{
			Change: func(reloader.StoredChange) {}, Reload: func(uint64, reloader.Reload) {}, Workload: func(reloader.WorkloadRecord) {},
			WorkloadGone: func(string, reloader.WorkloadRef) {}, CaughtUp: func() {},
			Cluster: func(s reloader.ClusterStatus) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, s.Cluster+" "+s.Version)
			},
		})
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}
}

func TestClusterStatusIsReplacedAndFollowed(t *testing.T) {
	q := open(t, Options{})
	ctx := testContext(t)
	err := errors.Join(q.BindCluster(ctx, "blue", "uid-1"), q.PutClusterStatus(ctx, status("blue", "v1")),
		q.PutClusterStatus(ctx, status("blue", "v2")), q.PutClusterStatus(ctx, status("green", "v1")))
	if err != nil {
		t.Fatal(err)
	}
	got := statuses(t, q)
	eventually(t, "what is stored", func() bool { return len(got()) == 2 })
	if err := q.PutClusterStatus(ctx, status("blue", "v3")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "what comes", func() bool { return len(got()) == 3 })
	if diff := cmp.Diff([]string{"blue v2", "green v1", "blue v3"}, got()); diff != "" {
		t.Error(diff)
	}
	if err := q.BindCluster(ctx, "blue", "uid-2"); !errors.Is(err, ErrOtherCluster) {
		t.Errorf("the status has touched what the name is bound to: %v", err)
	}
}

func TestClusterStatusDeletedByHandIsNoRecord(t *testing.T) {
	q := open(t, Options{})
	ctx := testContext(t)
	if err := q.PutClusterStatus(ctx, status("blue", "v1")); err != nil {
		t.Fatal(err)
	}
	bucket, err := q.js.KeyValue(ctx, clustersBucket)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(bucket.Delete(ctx, "blue."+statusToken), q.PutClusterStatus(ctx, status("green", "v1"))); err != nil {
		t.Fatal(err)
	}
	got := statuses(t, q)
	eventually(t, "the other status", func() bool { return len(got()) == 1 })
	if got()[0] != "green v1" {
		t.Errorf("got %q", got())
	}
}

func TestPutClusterStatusRefuses(t *testing.T) {
	q := open(t, Options{})
	if err := q.PutClusterStatus(testContext(t), status("a.>", "v1")); !errors.Is(err, reloader.ErrInvalidName) {
		t.Errorf("a name that is a subject: %v", err)
	}
	huge := status("blue", strings.Repeat("v", reloader.MaxWireBytes))
	if err := q.PutClusterStatus(testContext(t), huge); err == nil {
		t.Error("a status without bounds was stored")
	}
}

func TestPutClusterStatusNamesDeniedPermission(t *testing.T) {
	admin, user := restricted(t, &server.SubjectPermission{Allow: []string{"$JS.API.INFO", "$JS.API.STREAM.INFO.*"}})
	open(t, Options{URL: admin})
	q := open(t, Options{URL: user, InboxPrefix: "_INBOX_reroll"})
	if err := q.PutClusterStatus(testContext(t), status("blue", "v1")); !errors.Is(err, ErrDenied) {
		t.Errorf("got %v", err)
	}
}
