package queue

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/reloader"
)

// TestRemovalIsHeardOfLate: who follows the hub was cut off while a cluster was removed and came back, and knows it in the end as it is now.
func TestRemovalIsHeardOfLate(t *testing.T) {
	dir := t.TempDir()
	first := hubServer(t, dir, -1)
	hub := first.ClientURL()
	settle(t, hub, "blue", "green")
	settle(t, hub, "red", "green")
	seen := watchHub(t, hub)
	eventually(t, "both", func() bool { return seen.is(map[string]int{"blue": 3, "red": 3}) })
	before := seen.of("blue")
	stopServer(first)
	aside := hubServer(t, dir, -1)
	if _, err := remove(t, aside.ClientURL(), Removal{Cluster: "blue"}); err != nil {
		t.Fatal(err)
	}
	settle(t, aside.ClientURL(), "blue", "green")
	stopServer(aside)
	hubServer(t, dir, hubPort(t, hub))
	eventually(t, "what blue has now, and nothing else of it", func() bool {
		now := seen.of("blue")
		return len(now) == 3 && len(before) == 3 && !maps.Equal(before, now)
	})
	if !seen.is(map[string]int{"blue": 3, "red": 3}) {
		t.Errorf("of red there is %v", seen.of("red"))
	}
}

// of returns the records of a cluster.
func (s *seenAt) of(cluster string) map[seenRecord]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := maps.Clone(s.known)
	maps.DeleteFunc(found, func(r seenRecord, _ bool) bool { return r.cluster != cluster })
	return found
}

// TestRemovalThatFailsFreesNoName: as long as a hub has records of a cluster, no other one takes its name and mixes with them.
func TestRemovalThatFailsFreesNoName(t *testing.T) {
	admin, user := restricted(t, &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.PURGE." + reloadsStream}})
	if _, err := Setup(testContext(t), Options{URL: admin, Logger: quiet(), MaxStore: testStore}, Layout{Hub: true}, false); err != nil {
		t.Fatal(err)
	}
	settle(t, admin, "blue", "green")
	o := Options{URL: user, InboxPrefix: "_INBOX_reroll", Role: RoleHubAdmin, Logger: quiet()}
	if _, err := RemoveFromHub(testContext(t), o, Removal{Cluster: "blue"}); !errors.Is(err, ErrDenied) {
		t.Fatalf("removing it: %v", err)
	}
	other := newHub(open(t, Options{URL: admin, Role: RoleForward}))
	if _, err := other.bind(testContext(t), "blue", "uid-2"); !errors.Is(err, ErrOtherCluster) {
		t.Errorf("another cluster under the name: %v", err)
	}
	if _, err := remove(t, admin, Removal{Cluster: "blue"}); err != nil {
		t.Fatal(err)
	}
	if anew, err := other.bind(testContext(t), "blue", "uid-2"); err != nil || !anew {
		t.Errorf("another cluster under the name that is free: %t, %v", anew, err)
	}
}

// TestHubAPIOfOlderPermissionsCatchesUp: who may not read yet which clusters were removed waits for nothing.
func TestHubAPIOfOlderPermissionsCatchesUp(t *testing.T) {
	admin, user := restricted(t, &server.SubjectPermission{Deny: []string{"$JS.API.CONSUMER.CREATE." + clustersStream + ".*." + anyClusterRemoved}})
	if _, err := Setup(testContext(t), Options{URL: admin, Logger: quiet(), MaxStore: testStore}, Layout{Hub: true}, false); err != nil {
		t.Fatal(err)
	}
	ctx, caughtUp := context.WithCancelCause(testContext(t))
	done := errors.New("caught up")
	q := open(t, Options{URL: user, InboxPrefix: "_INBOX_reroll", Role: RoleHubAPI})
	err := q.Follow(ctx, Followed{
		Change: func(reloader.StoredChange) {}, Reload: func(uint64, reloader.Reload) {}, Workload: func(reloader.WorkloadRecord) {},
		WorkloadGone: func(string, reloader.WorkloadRef) {}, Cluster: func(reloader.ClusterStatus) {}, ClusterGone: func(reloader.ClusterGone) {},
		CaughtUp: func() { caughtUp(done) },
	})
	if err != nil || !errors.Is(context.Cause(ctx), done) {
		t.Errorf("following ended with %v: %v", err, context.Cause(ctx))
	}
}
