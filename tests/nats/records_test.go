package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// at is when everything in these tests was written.
var at = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

var (
	app = reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "app"}
	web = reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "web"}
)

func hint(cluster, name string) reloader.Hint {
	c := app
	c.Name = name
	return reloader.Hint{Cluster: cluster, Config: c, Verb: reloader.VerbUpdate, Source: reloader.SourceAudit, Code: 200, Time: at, Received: at}
}

func hints(cluster string, n int) []reloader.Hint {
	all := make([]reloader.Hint, n)
	for i := range all {
		all[i] = hint(cluster, fmt.Sprintf("config-%d", i))
	}
	return all
}

func change(cluster, sum string) reloader.Change {
	c := reloader.Change{
		Cluster: cluster, Config: app, Type: reloader.ChangeUpdated, New: reloader.Digest{KeyID: "k1", Sum: sum},
		Source: reloader.SourceAudit, VerifiedAt: at,
	}
	c.ID = reloader.ChangeID(c)
	return c
}

func record(cluster string) reloader.WorkloadRecord {
	return reloader.WorkloadRecord{Cluster: cluster, Workload: web, UID: "u", Dialect: "stakater", Strategy: "env-vars", UpdatedAt: at}
}

func reload(cluster, id string) reloader.Reload {
	return reloader.Reload{ID: id, Cluster: cluster, Workload: web, UID: "u", Outcome: reloader.ReasonReloaded, DecidedAt: at}
}

// open opens a queue that is closed at the end of the test.
func open(ctx context.Context, t *testing.T, o queue.Options) *queue.Queue {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	q, err := queue.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitTime)
		defer cancel()
		if err := q.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return q
}

// store stores one record of each kind about a cluster.
func store(ctx context.Context, q *queue.Queue, cluster string) error {
	_, err := q.AppendChange(ctx, change(cluster, "one"), 0)
	return errors.Join(err, q.AppendReload(ctx, reload(cluster, "r-1")), q.PutWorkload(ctx, record(cluster)), q.BindCluster(ctx, cluster, "uid-"+cluster))
}
