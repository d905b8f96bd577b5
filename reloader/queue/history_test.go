package queue

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

func change(name, sum string) reloader.Change {
	c := reloader.Change{
		Cluster: "blue", Config: config(name), Type: reloader.ChangeUpdated, VerifiedAt: epoch,
		New: reloader.Digest{KeyID: "k", Sum: sum, Keys: reloader.KeySums(map[string]string{"a": sum})},
	}
	c.ID = reloader.ChangeID(c)
	return c
}

func reload(name string, n int) reloader.Reload {
	return reloader.Reload{
		ID:        fmt.Sprintf("r-%s-%d", name, n),
		Cluster:   "blue",
		Workload:  workload(name),
		Outcome:   reloader.ReasonReloaded,
		DecidedAt: epoch.Add(time.Duration(n) * time.Second),
	}
}

func workload(name string) reloader.WorkloadRef {
	return reloader.WorkloadRef{Kind: "StatefulSet", Namespace: "shop", Name: name}
}

func workloadRecord(name, uid string) reloader.WorkloadRecord {
	return reloader.WorkloadRecord{Cluster: "blue", Workload: workload(name), UID: uid, Edges: []reloader.Edge{}, UpdatedAt: epoch}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestNewestChange: the newest change of each config is found, with its fingerprints, also when the history has none.
func TestNewestChange(t *testing.T) {
	q, ctx := open(t, Options{}), testContext(t)
	last := change("a.b", "2")
	for _, c := range []reloader.Change{change("a.b", "1"), last, change("a", "3")} {
		must(t, q.AppendChange(ctx, c))
	}
	red := change("a", "4")
	red.Cluster = "red"
	red.ID = reloader.ChangeID(red)
	must(t, q.AppendChange(ctx, red))
	s, err := q.JS.Stream(ctx, HistoryStream)
	must(t, err)
	must(t, s.Purge(ctx))
	_, err = q.JS.Publish(ctx, "reroll.config.blue.configmap.shop.broken", []byte("?"))
	must(t, err)
	all, err := q.LoadChanges(ctx, "blue")
	must(t, err)
	if diff := cmp.Diff(map[reloader.Config]reloader.Change{last.Config: last, config("a"): change("a", "3")}, all); diff != "" {
		t.Error(diff)
	}
	if err := q.AppendChange(ctx, change("UPPER", "1")); err == nil {
		t.Error("a config that cannot exist has a change")
	}
}

// TestLastReload: the last stored version counts.
func TestLastReload(t *testing.T) {
	q, ctx := open(t, Options{}), testContext(t)
	if _, found, err := q.LastReload(ctx, "blue", workload("web")); err != nil || found {
		t.Errorf("found %t, %v", found, err)
	}
	for n := range historyPerSubject + 5 {
		must(t, q.AppendReload(ctx, reload("web", n)))
	}
	want := reload("web", historyPerSubject+4)
	if got, found, err := q.LastReload(ctx, "blue", workload("web")); err != nil || !found || !cmp.Equal(got, want) {
		t.Errorf("%v %t %s", err, found, cmp.Diff(want, got))
	}
	if n := stored(t, q, HistoryStream); n != historyPerSubject {
		t.Errorf("%d reloads are kept", n)
	}
}

// TestRecordsOfWorkloads: the newest of each is loaded, and none that has ended, also by a crowd that writes at once.
func TestRecordsOfWorkloads(t *testing.T) {
	q, ctx := open(t, Options{}), testContext(t)
	var crowd sync.WaitGroup
	for n := range 100 {
		crowd.Go(func() {
			for _, uid := range []string{"first", "last"} {
				if err := q.PutWorkload(ctx, workloadRecord(fmt.Sprint("web-", n), uid)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	crowd.Wait()
	must(t, q.DeleteWorkload(ctx, "blue", workload("web-7")))
	must(t, q.DeleteWorkload(ctx, "blue", workload("never")))
	_, err := q.JS.Publish(ctx, "reroll.workload.blue.statefulset.shop.broken", []byte("?"))
	must(t, err)
	records, err := q.LoadWorkloads(ctx, "blue")
	must(t, err)
	for _, r := range records {
		if r.UID != "last" || r.Workload.Name == "web-7" {
			t.Errorf("loaded %+v", r)
		}
	}
	if others, err := q.LoadWorkloads(ctx, "red"); len(records) != 99 || len(others) != 0 || err != nil {
		t.Errorf("%d records, %d of another cluster, %v", len(records), len(others), err)
	}
}

// TestOneBadRecordFailsAlone: a message that the server refuses does not fail those that were stored together with it.
func TestOneBadRecordFailsAlone(t *testing.T) {
	q, ctx := open(t, Options{}), testContext(t)
	calls := []record{}
	for n := range batchFrom + 5 {
		m := NewMessage(fmt.Sprint("reroll.workload.blue.x.shop.w-", n), []byte("{}"))
		if n == 3 {
			m.Header.Set("Nats-Rollup", "sub") // which the stream does not allow
		}
		calls = append(calls, record{m, make(chan error, 1)})
	}
	q.state.commit(calls)
	for n, c := range calls {
		if err := <-c.result; (err != nil) != (n == 3) {
			t.Errorf("message %d: %v", n, err)
		}
	}
	if n := stored(t, q, StateStream); n != len(calls)-1 {
		t.Errorf("%d are stored", n)
	}
	must(t, q.PutClusterStatus(ctx, reloader.ClusterStatus{Cluster: "blue"}))
}

// TestBindCluster: a name is bound to the first UID, of many that ask at the same time to one.
func TestBindCluster(t *testing.T) {
	q, ctx := open(t, Options{}), testContext(t)
	var won sync.Map
	var racers sync.WaitGroup
	for n := range 8 {
		racers.Go(func() {
			if err := q.BindCluster(ctx, "blue", fmt.Sprint("uid-", n)); err == nil {
				won.Store(n, true)
			}
		})
	}
	racers.Wait()
	var winners []int
	won.Range(func(n, _ any) bool {
		winners = append(winners, n.(int))
		return true
	})
	if len(winners) != 1 {
		t.Fatalf("bound to %v", winners)
	}
	must(t, q.BindCluster(ctx, "blue", fmt.Sprint("uid-", winners[0])))
	must(t, q.BindCluster(ctx, "red", "uid-other"))
	for _, bad := range [][2]string{{"blue", ""}, {"b.lue", "uid"}} {
		if err := q.BindCluster(ctx, bad[0], bad[1]); err == nil {
			t.Errorf("bound %q to %q", bad[0], bad[1])
		}
	}
}
