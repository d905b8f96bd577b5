//go:build nightly

package queue

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/reroll-dev/reroll/reloader"
)

// TestFollowBelievesSubjectsAndNotRecords: green stores records that say they are blue's where it may store its own. At a hub nothing but the
// subject tells whose they are. Nor is a change believed that has the ID of another one: an ID is that of what the change says.
func TestFollowBelievesSubjectsAndNotRecords(t *testing.T) {
	q := open(t, Options{})
	ctx := testContext(t)
	forge(t, q, "reroll.change.green.configmap.shop.a", nil, must(reloader.Encode(change("a", "forged"))))
	forge(t, q, "reroll.reload.green.deployment.shop.a", nil, must(reloader.Encode(reload("a", "forged"))))
	forge(t, q, "$KV.reroll_workloads.green.deployment.shop.a", nil, must(reloader.Encode(record("a"))))
	forge(t, q, "$KV.reroll_workloads.green.deployment.shop.b", nats.Header{headerOperation: {operationPurge}, headerKind: {"Job"}}, nil)
	forge(t, q, "$KV.reroll_clusters.green.status", nil, must(reloader.Encode(status("blue", "forged"))))
	renamed := change("b", "renamed")
	renamed.ID = change("own", "one").ID
	forge(t, q, "reroll.change.blue.configmap.shop.b", nil, must(reloader.Encode(renamed)))
	appendChange(t, q, change("own", "one"), 0)
	err := errors.Join(q.AppendReload(ctx, reload("own", "r-1")), q.PutWorkload(ctx, record("own")), q.PutClusterStatus(ctx, status("blue", "v1")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	follow, stop := context.WithCancel(ctx)
	defer stop()
	err = q.Follow(follow, Followed{
		Change:       func(c reloader.StoredChange) { got = append(got, "change "+c.Change.New.Sum) },
		Reload:       func(_ uint64, r reloader.Reload) { got = append(got, "reload "+r.ID) },
		Workload:     func(r reloader.WorkloadRecord) { got = append(got, "record of "+r.Workload.Name) },
		WorkloadGone: func(cluster string, ref reloader.WorkloadRef) { got = append(got, "end of "+cluster+" "+ref.String()) },
		Cluster:      func(s reloader.ClusterStatus) { got = append(got, "status "+s.Version) },
		CaughtUp:     stop,
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"change one", "record of own", "reload r-1", "status v1"}, got); diff != "" {
		t.Errorf("handed over (-want +got):\n%s", diff)
	}
}

// forge stores a message, whatever it says of itself.
func forge(t *testing.T, q *Queue, subject string, header nats.Header, data []byte) {
	t.Helper()
	if _, err := q.js.PublishMsg(testContext(t), &nats.Msg{Subject: subject, Header: header, Data: data}); err != nil {
		t.Fatal(err)
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}
