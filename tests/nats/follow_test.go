package nats

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// connected runs the forwarder of a cluster until the end of the test.
func connected(ctx context.Context, t *testing.T, s *server.Server, cluster string, to queue.Following) *queue.Forwarder {
	t.Helper()
	own, err := queue.Open(ctx, queue.Options{StoreDir: t.TempDir(), MaxStore: 64 << 20, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	f, err := own.NewForwarder(queue.ForwardOptions{Hub: options(t, s, user{queue.RoleForward, cluster}), Cluster: cluster, UID: "uid-" + cluster})
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- f.Run(run, to) }()
	t.Cleanup(func() {
		stop()
		<-done
		_ = own.Close(context.Background()) // what was stored is looked at elsewhere
	})
	return f
}

func nobody() []reloader.Follow { return nil }

// TestFollowAcrossAccounts: what one cluster follows of another goes through a hub as documented, and only that. A third party cannot
// speak for the owner: the subjects of its copies are the owner's alone.
func TestFollowAcrossAccounts(t *testing.T) {
	s := documented(t, "hub-server.conf")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	setUpAs(ctx, t, s, user{queue.RoleHubAdmin, ""}, queue.Layout{Hub: true})

	flags := reloader.Config{Kind: reloader.ConfigMap, Namespace: "shared", Name: "flags.v2"}
	followed := flags
	followed.Cluster = "local"
	wants, copies := make(chan reloader.Want, 100), make(chan reloader.Copy, 100)
	owner := connected(ctx, t, s, "local", queue.Following{
		Followed: nobody, Received: func(reloader.Copy) {}, Wanted: func(w reloader.Want) { wants <- w },
	})
	target := connected(ctx, t, s, "c2", queue.Following{
		Followed: func() []reloader.Follow { return []reloader.Follow{{Config: followed}} },
		Received: func(c reloader.Copy) { copies <- c }, Wanted: func(reloader.Want) {},
	})
	want := receive(ctx, t, wants)
	if want.Target != "c2" || want.Owner != "local" || !slices.Equal(want.Configs, []reloader.Config{flags}) {
		t.Fatalf("the owner is asked %+v", want)
	}
	for _, id := range []string{"c-1", "c-2"} {
		target.Send(reloader.Copy{Owner: "local", Target: "c2", Config: flags, Change: reloader.Change{ID: "forged"}})
		owner.Send(reloader.Copy{Owner: "local", Target: "c2", Config: flags, Change: reloader.Change{ID: id}})
		if got := receive(ctx, t, copies); got.Change.ID != id {
			t.Errorf("the target got %q, want %q", got.Change.ID, id)
		}
	}
}

func receive[T any](ctx context.Context, t *testing.T, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-ctx.Done():
		t.Fatal("nothing came")
	}
	return got
}
