package queue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader"
)

func change(name, sum string) reloader.Change {
	c := reloader.Change{
		Cluster: "blue", Config: config(name), Type: reloader.ChangeUpdated, New: reloader.Digest{KeyID: "k1", Sum: sum},
		Source: reloader.SourceAudit, VerifiedAt: epoch,
	}
	c.ID = reloader.ChangeID(c)
	return c
}

func workload(name string) reloader.WorkloadRef {
	return reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: name}
}

func record(name string) reloader.WorkloadRecord {
	return reloader.WorkloadRecord{
		Cluster: "blue", Workload: workload(name), UID: "u-" + name, Dialect: "stakater", Strategy: "env-vars",
		Edges: []reloader.Edge{{Config: config("a"), Why: reloader.ReasonNamed}}, UpdatedAt: epoch,
	}
}

func reload(name, id string) reloader.Reload {
	return reloader.Reload{
		ID: id, Cluster: "blue", Workload: workload(name), UID: "u-" + name, Outcome: reloader.ReasonReloaded,
		Causes: []reloader.Cause{{ChangeID: "c-1", Config: config("a"), Why: reloader.ReasonNamed, Source: reloader.SourceAudit, VerifiedAt: epoch}}, DecidedAt: epoch,
	}
}

func appendChange(t testing.TB, q *Queue, c reloader.Change, after uint64) uint64 {
	t.Helper()
	sequence, err := q.AppendChange(testContext(t), c, after)
	if err != nil {
		t.Fatal(err)
	}
	return sequence
}

func TestChanges(t *testing.T) {
	dir := t.TempDir()
	q := open(t, Options{StoreDir: dir})
	ctx := testContext(t)
	if got, err := q.LoadChanges(ctx, "blue"); err != nil || len(got) != 0 {
		t.Fatalf("an empty stream has %d changes, %v", len(got), err)
	}
	first := appendChange(t, q, change("a", "1"), 0)
	other := change("a", "9")
	other.Cluster = "green"
	appendChange(t, q, other, 0)
	b := appendChange(t, q, change("b", "1"), 0)
	second := appendChange(t, q, change("a", "2"), first)

	want := map[reloader.Config]reloader.StoredChange{
		config("a"): {Change: change("a", "2"), Sequence: second},
		config("b"): {Change: change("b", "1"), Sequence: b},
	}
	closeQueue(t, q)
	q = open(t, Options{StoreDir: dir})
	got, err := q.LoadChanges(testContext(t), "blue")
	if diff := gocmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
	latest, ok, err := q.LatestChange(testContext(t), "blue", config("a"))
	if diff := gocmp.Diff(want[config("a")], latest); err != nil || !ok || diff != "" {
		t.Errorf("%v, %v: %s", ok, err, diff)
	}
	if _, ok, err := q.LatestChange(testContext(t), "blue", config("none")); ok || err != nil {
		t.Errorf("a change of a config that never changed: %v", err)
	}
	history := []reloader.StoredChange{{Change: change("a", "1"), Sequence: first}, want[config("a")]}
	if diff := gocmp.Diff(history, changesOf(t, q, "a")); diff != "" {
		t.Error(diff)
	}
}

func TestAppendChangeIsFenced(t *testing.T) {
	q := open(t, Options{})
	ctx := testContext(t)
	first := appendChange(t, q, change("a", "1"), 0)
	second := appendChange(t, q, change("a", "2"), first)
	for name, after := range map[string]uint64{"nothing known": 0, "an old one known": first, "one that never was": second + 7} {
		if _, err := q.AppendChange(ctx, change("a", "3"), after); !errors.Is(err, reloader.ErrOutrun) {
			t.Errorf("%s: %v; want ErrOutrun", name, err)
		}
	}
	if again := appendChange(t, q, change("a", "2"), first); again != second {
		t.Errorf("the same change again is at %d; want %d: its answer may have got lost", again, second)
	}
	appendChange(t, q, change("a", "3"), second)
}

func TestOnlyOneOfManyAppends(t *testing.T) {
	q := open(t, Options{})
	won := make(chan string, 16)
	var g errgroup.Group
	for n := range cap(won) {
		g.Go(func() error {
			sum := fmt.Sprint("sum-", n)
			_, err := q.AppendChange(testContext(t), change("a", sum), 0)
			if err == nil {
				won <- sum
			} else if !errors.Is(err, reloader.ErrOutrun) {
				return err
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if close(won); len(won) != 1 {
		t.Fatalf("%d appends succeeded", len(won))
	}
	latest, _, err := q.LatestChange(testContext(t), "blue", config("a"))
	if sum := <-won; err != nil || latest.Change.New.Sum != sum {
		t.Errorf("stored %s, %v; want %s", latest.Change.New.Sum, err, sum)
	}
}

func TestLoadChangesOfManyConfigs(t *testing.T) {
	q := open(t, Options{})
	const configs = 1300 // More than a read-ahead, and more than a server answers to one direct get.
	for n := range configs {
		appendChange(t, q, change(fmt.Sprintf("config-%d", n), "1"), 0)
	}
	got, err := q.LoadChanges(testContext(t), "blue")
	if err != nil || len(got) != configs {
		t.Errorf("loaded %d changes, %v; want %d", len(got), err, configs)
	}
}

func TestWorkloadRecords(t *testing.T) {
	dir := t.TempDir()
	q := open(t, Options{StoreDir: dir})
	ctx := testContext(t)
	a, b := record("a"), record("b.with.dots")
	b2 := b
	b2.Strategy = "annotations"
	for _, r := range []reloader.WorkloadRecord{a, b, record("gone"), b2} {
		if err := q.PutWorkload(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"gone", "never-was"} {
		if err := q.DeleteWorkload(ctx, "blue", workload(name)); err != nil {
			t.Fatal(err)
		}
	}
	closeQueue(t, q)
	q = open(t, Options{StoreDir: dir})
	got, err := q.LoadWorkloads(testContext(t), "blue")
	slices.SortFunc(got, func(x, y reloader.WorkloadRecord) int { return cmp.Compare(x.UID, y.UID) })
	if diff := gocmp.Diff([]reloader.WorkloadRecord{a, b2}, got); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
}

// TestLateRecordDoesNotOverwrite: what a process writes that does not know the newest record of a workload is not stored. It may be called again by
// whoever knows better.
func TestLateRecordDoesNotOverwrite(t *testing.T) {
	server := external(t, t.TempDir(), -1, nil)
	ctx := testContext(t)
	before, after := open(t, Options{URL: server.ClientURL()}), open(t, Options{URL: server.ClientURL()})
	const many = 2 * atomicFrom
	name := func(n int) string { return fmt.Sprint("cart-", n) }
	of := func(n int, strategy string) reloader.WorkloadRecord {
		r := record(name(n))
		r.Strategy = strategy
		return r
	}
	put := func(q *Queue, strategy string, first, end int) (outrun int) {
		t.Helper()
		var all sync.WaitGroup
		errs := make([]error, end)
		for n := first; n < end; n++ {
			all.Go(func() { errs[n] = q.PutWorkload(ctx, of(n, strategy)) })
		}
		all.Wait()
		for _, err := range errs {
			if err != nil && !errors.Is(err, reloader.ErrOutrun) {
				t.Fatal(err)
			}
			if err != nil {
				outrun++
			}
		}
		return outrun
	}
	if put(before, "first", 0, many) != 0 {
		t.Fatal("the first records were refused")
	}
	if _, err := after.LoadWorkloads(ctx, "blue"); err != nil {
		t.Fatal(err)
	}
	// Of one batch only those are refused of which somebody else has written a newer one.
	if got := put(after, "successor", 0, many/2); got != 0 {
		t.Errorf("%d records of the successor were refused", got)
	}
	if got := put(before, "late", 0, many); got != many/2 {
		t.Errorf("%d late records were refused, want %d", got, many/2)
	}
	if err := before.DeleteWorkload(ctx, "blue", workload(name(0))); err != nil {
		t.Errorf("who tries again is refused: %v", err)
	}
	if err := after.DeleteWorkload(ctx, "blue", workload(name(1))); err != nil {
		t.Error(err)
	}
	if err := after.DeleteWorkload(ctx, "blue", workload(name(0))); !errors.Is(err, reloader.ErrOutrun) {
		t.Errorf("a late end of a record: %v, want ErrOutrun", err)
	}
	stored, err := after.LoadWorkloads(ctx, "blue")
	if err != nil || len(stored) != many-2 {
		t.Fatalf("%d records, %v; want %d", len(stored), err, many-2)
	}
	counts := map[string]int{}
	for _, r := range stored {
		counts[r.Strategy]++
	}
	if counts["successor"] != many/2-2 || counts["late"] != many/2 {
		t.Errorf("records %v", counts)
	}
}

func TestWorkloadRecordsAreAKVBucket(t *testing.T) {
	q := open(t, Options{})
	ctx := testContext(t)
	if err := errors.Join(q.PutWorkload(ctx, record("a.b")), q.PutWorkload(ctx, record("gone")), q.DeleteWorkload(ctx, "blue", workload("gone"))); err != nil {
		t.Fatal(err)
	}
	bucket, err := q.js.KeyValue(ctx, "reroll_workloads")
	if err != nil {
		t.Fatal(err)
	}
	entry, err := bucket.Get(ctx, "blue.deployment.shop.a=2Eb")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := reloader.Decode[reloader.WorkloadRecord](entry.Value()); err != nil || r.Workload != workload("a.b") {
		t.Errorf("a KV client reads %+v, %v", r, err)
	}
	if _, err := bucket.Get(ctx, "blue.deployment.shop.gone"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("a KV client finds an ended record: %v", err)
	}
}

func TestReloads(t *testing.T) {
	q := open(t, Options{})
	ctx := testContext(t)
	if _, ok, err := q.LastReload(ctx, "blue", workload("a")); ok || err != nil {
		t.Fatalf("a reload out of nothing: %v", err)
	}
	for _, id := range []string{"r-1", "r-2"} {
		if err := q.AppendReload(ctx, reload("a", id)); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.AppendReload(ctx, reload("b", "r-3")); err != nil {
		t.Fatal(err)
	}
	got, ok, err := q.LastReload(ctx, "blue", workload("a"))
	if diff := gocmp.Diff(reload("a", "r-2"), got); !ok || err != nil || diff != "" {
		t.Errorf("%v, %v: %s", ok, err, diff)
	}
}
