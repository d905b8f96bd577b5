package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/line"
)

// options are those of a role with its own credentials.
func options(t *testing.T, s *server.Server, u user) queue.Options {
	t.Helper()
	flags := loginFlags(t, u.role, u.cluster)
	return queue.Options{
		URL: s.ClientURL(), Role: u.role, InboxPrefix: u.role.InboxPrefix(u.cluster),
		Login: queue.Login{User: flags[1], PasswordFile: flags[3]}, Logger: slog.New(slog.DiscardHandler),
	}
}

// setUpAs makes the streams as an administrator.
func setUpAs(ctx context.Context, t *testing.T, s *server.Server, u user, l queue.Layout) {
	t.Helper()
	o := options(t, s, u)
	if _, err := queue.Setup(ctx, o, l, false); err != nil {
		t.Fatal(err)
	}
}

// messages returns how many messages of each stream its administrator sees.
func messages(ctx context.Context, t *testing.T, s *server.Server, cluster string) map[string]uint64 {
	t.Helper()
	nc, _ := connect(t, s, user{queue.RoleAdmin, cluster})
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]uint64{}
	for _, name := range []string{"HINTS", "CHANGES", "RELOADS", "KV_reroll_workloads", "KV_reroll_clusters"} {
		stream, err := js.Stream(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		counts[name] = stream.CachedInfo().State.Msgs
	}
	return counts
}

// TestOneClusterNeitherReadsNorForgesAnother has the processes of one cluster try what another one's do, and what the server might do
// for them.
func TestOneClusterNeitherReadsNorForgesAnother(t *testing.T) {
	s := documented(t, "server.conf")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, cluster := range []string{"local", "c2"} {
		setUpAs(ctx, t, s, user{queue.RoleAdmin, cluster}, queue.Layout{Clusters: []string{cluster}})
	}
	own := open(ctx, t, options(t, s, user{queue.RoleDispatch, "local"}))
	other := open(ctx, t, options(t, s, user{queue.RoleDispatch, "c2"}))
	if err := errors.Join(store(ctx, own, "local"), own.Put(ctx, hints("local", 1)), store(ctx, other, "c2"), other.Put(ctx, hints("c2", 1))); err != nil {
		t.Fatal(err)
	}
	before := messages(ctx, t, s, "c2")

	t.Log("its records are not there, and what is written about it is refused")
	if got, err := own.LoadChanges(ctx, "c2"); !errors.Is(err, queue.ErrDenied) || len(got) != 0 {
		t.Errorf("read %d changes of another cluster: %v", len(got), err)
	}
	ingest := open(ctx, t, options(t, s, user{queue.RoleIngest, "local"}))
	for name, err := range map[string]error{
		"a hint": ingest.Put(ctx, hints("c2", 1)), "a batch of hints": ingest.Put(ctx, hints("c2", 100)), "records": store(ctx, own, "c2"),
	} {
		if !errors.Is(err, queue.ErrDenied) || !strings.Contains(err.Error(), "c2") {
			t.Errorf("%s of another cluster: %v", name, err)
		}
	}

	t.Log("what the server answers to a request is stored among one's own streams")
	sendAnswersTo(t, s, user{queue.RoleDispatch, "local"}, "reroll.change.c2.configmap.shop.app")
	wait := func(context.Context) error {
		if got := messages(ctx, t, s, "local")["CHANGES"]; got < 2 {
			return fmt.Errorf("%d changes", got)
		}
		return nil
	}
	if err := line.Poll(ctx, wait); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, messages(ctx, t, s, "c2")); diff != "" {
		t.Errorf("the other cluster has got or lost messages (-before +after):\n%s", diff)
	}
	if got := messages(ctx, t, s, "local"); got["HINTS"] != 1 || got["RELOADS"] != 1 || got["KV_reroll_workloads"] != 1 {
		t.Errorf("somebody else's messages came here: %v", got)
	}
}

// sendAnswersTo has the server answer requests of a user on a subject on which the user itself may not publish: with a change of the
// user's cluster, word for word, with the acknowledgement of another one, and with facts about the account.
func sendAnswersTo(t *testing.T, s *server.Server, u user, subject string) {
	t.Helper()
	nc, _ := connect(t, s, u)
	for _, request := range []string{
		"$JS.API.DIRECT.GET.CHANGES.reroll.change." + u.cluster + ".configmap.shop.app", "$JS.API.INFO",
		"reroll.change." + u.cluster + ".configmap.shop.other",
	} {
		if err := nc.PublishMsg(&nats.Msg{Subject: request, Reply: subject}); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.FlushTimeout(waitTime); err != nil {
		t.Fatal(err)
	}
}

// TestHubKeepsClustersApart shows that a cluster writes its own records at the hub and nobody else's, that it reads nobody else's,
// and that the hub's API reads all.
func TestHubKeepsClustersApart(t *testing.T) {
	s := documented(t, "hub-server.conf")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	setUpAs(ctx, t, s, user{queue.RoleHubAdmin, ""}, queue.Layout{Hub: true})
	for _, cluster := range []string{"local", "c2"} {
		q := open(ctx, t, options(t, s, user{queue.RoleForward, cluster}))
		other := map[string]string{"local": "c2", "c2": "local"}[cluster]
		if _, err := q.AppendChange(ctx, change(cluster, "one"), 0); err != nil {
			t.Error(err)
		}
		if err := errors.Join(q.AppendReload(ctx, reload(cluster, "r-1")), q.PutWorkload(ctx, record(cluster))); err != nil {
			t.Error(err)
		}
		_, changeErr := q.AppendChange(ctx, change(other, "two"), 0)
		for name, err := range map[string]error{
			"change": changeErr, "reload": q.AppendReload(ctx, reload(other, "r-2")), "record": q.PutWorkload(ctx, record(other)),
		} {
			if !errors.Is(err, queue.ErrDenied) {
				t.Errorf("%s wrote a %s of %s: %v", cluster, name, other, err)
			}
		}
		refusedRead(ctx, t, s, user{queue.RoleForward, cluster}, "$JS.API.DIRECT.GET.CHANGES.reroll.change."+other+".configmap.shop.app")
		sweepsAway(t, s, cluster)
		speaksFor(ctx, t, s, cluster, other)
		sendAnswersTo(t, s, user{queue.RoleForward, cluster}, "reroll.change."+other+".configmap.shop.forged")
		// The last of these requests is stored itself, and by then the others have been answered.
		if _, err := q.AppendChange(ctx, last(cluster), 0); err != nil {
			t.Error(err)
		}
	}
	got, sequence := map[string]int{}, uint64(0)
	caughtUp, stop := context.WithCancel(ctx)
	q := open(ctx, t, options(t, s, user{queue.RoleHubAPI, ""}))
	err := q.Follow(caughtUp, queue.Followed{
		Change: func(c reloader.StoredChange) {
			got["change of "+c.Change.Cluster]++
			sequence = c.Sequence
		},
		Reload:       func(_ uint64, r reloader.Reload) { got["reload of "+r.Cluster]++ },
		Workload:     func(r reloader.WorkloadRecord) { got["record of "+r.Cluster]++ },
		WorkloadGone: func(cluster string, _ reloader.WorkloadRef) { got["end of a record of "+cluster]++ },
		Cluster:      func(c reloader.ClusterStatus) { got["status of "+c.Cluster]++ },
		CaughtUp:     stop,
	})
	want := map[string]int{
		"change of local": 2, "reload of local": 1, "record of local": 1, "change of c2": 2, "reload of c2": 1, "record of c2": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the hub's API sees (-want +got): %v\n%s", err, diff)
	}
	if sequence != 8 {
		t.Errorf("%d messages were stored as changes; want four of each cluster", sequence)
	}
}

// sweepsAway has a cluster store records of its own that ask the hub to drop all others: of a stream that allows it, all that it has.
func sweepsAway(t *testing.T, s *server.Server, cluster string) {
	t.Helper()
	nc, _ := connect(t, s, user{queue.RoleForward, cluster})
	for _, subject := range []string{
		"reroll.change." + cluster + ".configmap.shop.sweep", "reroll.reload." + cluster + ".deployment.shop.sweep",
		"$KV.reroll_workloads." + cluster + ".deployment.shop.sweep", "$KV.reroll_clusters." + cluster + ".status",
		"reroll.follow." + cluster + ".c3.configmap.shop.sweep",
	} {
		answer, err := nc.RequestMsg(&nats.Msg{Subject: subject, Header: nats.Header{"Nats-Rollup": {"all"}}}, waitTime)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(answer.Data), "error") {
			t.Errorf("%s had %s drop all others: %s", cluster, subject, answer.Data)
		}
	}
}

// speaksFor has a cluster store, where it may store, records that say they are another one's: nobody but their reader can tell.
func speaksFor(ctx context.Context, t *testing.T, s *server.Server, cluster, other string) {
	t.Helper()
	nc, _ := connect(t, s, user{queue.RoleForward, cluster})
	encoded := func(data []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	workload := "." + cluster + ".deployment.shop.forged"
	for subject, data := range map[string][]byte{
		"reroll.change." + cluster + ".configmap.shop.forged": encoded(reloader.Encode(change(other, "forged"))),
		"reroll.reload" + workload:                            encoded(reloader.Encode(reload(other, "forged"))),
		"$KV.reroll_workloads" + workload:                     encoded(reloader.Encode(record(other))),
		"$KV.reroll_clusters." + cluster + ".status":          encoded(reloader.Encode(reloader.ClusterStatus{Cluster: other, Version: "forged"})),
	} {
		answer, err := nc.RequestWithContext(ctx, subject, data)
		if err != nil || strings.Contains(string(answer.Data), "error") {
			t.Fatalf("%s could not be stored, which says nothing of who reads it: %v, %+v", subject, err, answer)
		}
	}
}

// last is a change of another config.
func last(cluster string) reloader.Change {
	c := change(cluster, "last")
	c.Config.Name = "last"
	c.ID = reloader.ChangeID(c)
	return c
}

// refusedRead checks that a user gets no answer to a request, since it may not make it.
func refusedRead(ctx context.Context, t *testing.T, s *server.Server, u user, subject string) {
	t.Helper()
	nc, denied := connect(t, s, u)
	if err := nc.PublishMsg(&nats.Msg{Subject: subject, Reply: u.role.InboxPrefix(u.cluster) + ".x"}); err != nil {
		t.Fatal(err)
	}
	err := line.Poll(ctx, func(context.Context) error {
		if len(denied.sorted()) == 0 {
			return errors.New("nothing is denied")
		}
		return nil
	})
	if err != nil {
		t.Errorf("%s asked for %s: %v", u.role.UserName(u.cluster), subject, err)
	}
}
