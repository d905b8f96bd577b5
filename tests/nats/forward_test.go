package nats

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// TestForwardWithItsPermissionsAlone: a cluster brings everything to a hub as documented, through an account that may do nothing else.
func TestForwardWithItsPermissionsAlone(t *testing.T) {
	s := documented(t, "hub-server.conf")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	setUpAs(ctx, t, s, user{queue.RoleHubAdmin, ""}, queue.Layout{Hub: true})
	own, err := queue.Open(ctx, queue.Options{StoreDir: t.TempDir(), MaxStore: 64 << 20, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close(ctx) //nolint:errcheck // what was stored is looked at
	f, err := own.NewForwarder(queue.ForwardOptions{Hub: options(t, s, user{queue.RoleForward, "c2"}), Cluster: "c2", UID: "uid-2"})
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- f.Run(run, queue.Following{}) }()
	defer func() {
		stop()
		<-done
	}()
	f.PutStatus(reloader.ClusterStatus{Cluster: "c2", Version: "v1"})
	config := reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "prices"}
	change := reloader.Change{Cluster: "c2", Config: config, Type: reloader.ChangeUpdated}
	change.ID = reloader.ChangeID(change)
	if _, err := own.AppendChange(ctx, change, 0); err != nil {
		t.Fatal(err)
	}
	ref := reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "cart"}
	if err := own.AppendReload(ctx, reloader.Reload{ID: "r-1", Cluster: "c2", Workload: ref}); err != nil {
		t.Fatal(err)
	}
	if err := own.PutWorkload(ctx, reloader.WorkloadRecord{Cluster: "c2", Workload: ref}); err != nil {
		t.Fatal(err)
	}
	hub, err := queue.Open(ctx, options(t, s, user{queue.RoleHubAPI, ""}))
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close(ctx) //nolint:errcheck // it only reads
	seen := make(chan string, 100)
	go func() {
		_ = hub.Follow(run, queue.Followed{
			Change:       func(c reloader.StoredChange) { seen <- c.Change.ID },
			Reload:       func(_ uint64, r reloader.Reload) { seen <- r.ID },
			Workload:     func(w reloader.WorkloadRecord) { seen <- w.Workload.Name },
			WorkloadGone: func(string, reloader.WorkloadRef) {}, CaughtUp: func() {},
			Cluster: func(c reloader.ClusterStatus) { seen <- c.Version },
		})
	}()
	missing := map[string]bool{change.ID: true, "r-1": true, "cart": true, "v1": true}
	for len(missing) > 0 {
		select {
		case what := <-seen:
			delete(missing, what)
		case <-ctx.Done():
			t.Fatalf("the hub has not got %v", missing)
		}
	}
}
