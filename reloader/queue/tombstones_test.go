package queue

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/reloader"
)

// deleted returns a tombstone.
func deleted(name string) reloader.Change {
	c := change(name, "1")
	c.Type = reloader.ChangeDeleted
	c.ID = reloader.ChangeID(c)
	return c
}

// bury stores a change and then a tombstone of a config, and returns the tombstone's sequence.
func bury(t *testing.T, q *Queue, name string) uint64 {
	t.Helper()
	return appendChange(t, q, deleted(name), appendChange(t, q, change(name, "1"), 0))
}

func keeper(t *testing.T, q *Queue) graveyard {
	t.Helper()
	filter, err := clusterFilter(changePrefix, "blue")
	if err != nil {
		t.Fatal(err)
	}
	return graveyard{q: q, filter: filter, ended: func(c reloader.Change) bool { return isDeletion(c) || c.Config.Name == "unneeded" }}
}

// kept returns the names of the configs with a stored change, and how many changes there are.
func kept(t *testing.T, q *Queue) (names []string, messages uint64) {
	t.Helper()
	changes, err := q.LoadChanges(testContext(t), "blue")
	if err != nil {
		t.Fatal(err)
	}
	for c := range changes {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	info, err := q.streams[changesStream].Info(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return names, info.State.Msgs
}

func TestExpiredTombstonesAreDropped(t *testing.T) {
	q := open(t, Options{})
	ctx := testContext(t)
	expired := bury(t, q, "expired")
	appendChange(t, q, change("created-again", "2"), bury(t, q, "created-again"))
	appendChange(t, q, change("unchanged", "1"), 0)
	appendChange(t, q, change("unneeded", "2"), appendChange(t, q, change("unneeded", "1"), 0))
	foreign := deleted("foreign")
	foreign.Cluster = "green"
	appendChange(t, q, foreign, 0)
	subject, _ := configSubject(changePrefix, "blue", config("from-a-newer-version"))
	publish(t, q, subject, `{"v":99,"type":"Deleted"}`)
	cut, err := q.last(ctx, changesStream, subject)
	if err != nil {
		t.Fatal(err)
	}
	young := bury(t, q, "young")

	c := keeper(t, q)
	if err := c.purge(ctx, time.Now().Add(-tombstoneAge)); err != nil {
		t.Fatal(err)
	}
	if _, n := kept(t, q); n != 12 {
		t.Fatalf("%d changes are left of 12 before any tombstone has expired", n)
	}
	before := cut.Time.Add(time.Nanosecond)
	for range 2 {
		if err := c.purge(ctx, before); err != nil {
			t.Fatal(err)
		}
		names, n := kept(t, q)
		if want := []string{"created-again", "from-a-newer-version", "unchanged", "young"}; !slices.Equal(names, want) || n != 8 {
			t.Fatalf("kept %d changes of %v; want 8 of %v and one of another cluster", n, names, want)
		}
	}
	// Who still knew the tombstone finds out, and begins anew.
	if _, err := q.AppendChange(ctx, change("expired", "2"), expired); err == nil {
		t.Error("appended after a tombstone that is gone")
	}
	appendChange(t, q, change("expired", "2"), 0)
	appendChange(t, q, change("young", "2"), young)
}

func TestChangeThatComesMeanwhileStays(t *testing.T) {
	q := open(t, Options{})
	ctx := testContext(t)
	bury(t, q, "a")
	c := keeper(t, q)
	expired, err := c.expired(ctx, time.Now().Add(time.Hour))
	if err != nil || len(expired) != 1 {
		t.Fatalf("found %v, %v; want one tombstone", expired, err)
	}
	appendChange(t, q, change("a", "2"), expired[0].sequence)
	if err := c.purgeUpTo(ctx, expired[0]); err != nil {
		t.Fatal(err)
	}
	if _, n := kept(t, q); n != 3 {
		t.Errorf("%d changes are left; want all 3 of a config that is there again", n)
	}
}

func TestTombstonesAreDroppedInParts(t *testing.T) {
	q := open(t, Options{})
	const more = 20
	for n := range tombstonesAtOnce + more {
		appendChange(t, q, deleted(numbered(n).Config.Name), 0)
	}
	for _, want := range []uint64{more, 0} {
		if err := keeper(t, q).purge(testContext(t), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, n := kept(t, q); n != want {
			t.Errorf("%d are left; want %d", n, want)
		}
	}
}

func TestWhoMayNotPurgeIsTold(t *testing.T) {
	admin, user := restricted(t, &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.PURGE.>"}})
	bury(t, open(t, Options{URL: admin}), "a")
	q := open(t, Options{URL: user, InboxPrefix: "_INBOX_reroll"})
	if err := keeper(t, q).purge(testContext(t), time.Now().Add(time.Hour)); !errors.Is(err, ErrDenied) {
		t.Errorf("got %v, want a denied permission", err)
	}
}

// TestHubBuriesForThoseWhoBringTheirRecords: the tombstones of a cluster whose dispatcher works here are its own business.
func TestHubBuriesForThoseWhoBringTheirRecords(t *testing.T) {
	q := open(t, Options{})
	ctx := testContext(t)
	bury(t, q, "a")
	statuses := func(forward *reloader.Forwarding) {
		if err := q.PutClusterStatus(ctx, reloader.ClusterStatus{Cluster: "blue", UID: "u", At: epoch, Forward: forward}); err != nil {
			t.Fatal(err)
		}
	}
	statuses(nil)
	if g, err := q.hubGraveyard(ctx); g != nil || err != nil {
		t.Fatalf("without a cluster that brings its records: %+v, %v", g, err)
	}
	statuses(&reloader.Forwarding{At: epoch})
	g, err := q.hubGraveyard(ctx)
	if err != nil || g == nil {
		t.Fatalf("with a cluster that brings its records: %+v, %v", g, err)
	}
	foreign := deleted("foreign")
	foreign.Cluster = "green"
	appendChange(t, q, foreign, 0)
	if err := g.purge(ctx, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if names, n := kept(t, q); len(names) != 0 || n != 1 {
		t.Errorf("%v are left, and %d changes; want that of a cluster that brings none", names, n)
	}
}
