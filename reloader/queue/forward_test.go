package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// hubServer starts a hub with its streams. Its files outlive it, so that it can be cut off and come back on its port.
func hubServer(t *testing.T, dir string, port int) *server.Server {
	t.Helper()
	s := external(t, dir, port, nil)
	if _, err := Setup(testContext(t), Options{URL: s.ClientURL(), Logger: quiet(), MaxStore: testStore}, Layout{Hub: true}, false); err != nil {
		t.Fatal(err)
	}
	return s
}

func hubPort(t *testing.T, address string) int {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// text is a log that can be read while it is written.
type text struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *text) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *text) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func loggerTo(log *text) *slog.Logger { return slog.New(slog.NewTextHandler(log, nil)) }

// forwarding runs a forwarder of cluster blue until the returned function is called.
func forwarding(t *testing.T, q *Queue, hub, uid string, log *text) (stop func()) {
	t.Helper()
	logger := quiet()
	if log != nil {
		logger = loggerTo(log)
	}
	f, err := q.NewForwarder(ForwardOptions{Hub: Options{URL: hub}, Cluster: "blue", UID: uid, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx, Following{}) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the forwarder ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func edit(t *testing.T, q *Queue, name string, after uint64, n int) uint64 {
	t.Helper()
	c := reloader.Change{
		Cluster: "blue", Config: config(name), Type: reloader.ChangeUpdated, New: reloader.Digest{KeyID: "k", Sum: fmt.Sprint(n)}, VerifiedAt: epoch,
	}
	c.ID = reloader.ChangeID(c)
	sequence, err := q.AppendChange(testContext(t), c, after)
	if err != nil {
		t.Fatal(err)
	}
	return sequence
}

// contents lists what a stream holds, as lines of subject and data, in the order of each subject.
func contents(t *testing.T, js jetstream.JetStream, stream string) map[string][]string {
	t.Helper()
	ctx := testContext(t)
	s, err := js.Stream(ctx, stream)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for sequence := max(1, s.CachedInfo().State.FirstSeq); sequence <= s.CachedInfo().State.LastSeq; sequence++ {
		m, err := s.GetMsg(ctx, sequence)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if stream != clustersStream || !strings.HasSuffix(m.Subject, statusToken) {
			all[m.Subject] = append(all[m.Subject], string(m.Data))
		}
	}
	return all
}

// arrives waits until the hub has exactly what q has.
func arrives(t *testing.T, q *Queue, hub string) {
	t.Helper()
	at := open(t, Options{URL: hub, Role: RoleHubAdmin})
	for _, stream := range []string{changesStream, reloadsStream, workloadsStream} {
		want := contents(t, q.js, stream)
		var got map[string][]string
		eventually(t, stream+" to arrive", func() bool {
			got = contents(t, at.js, stream)
			return count(got) >= count(want)
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s at the hub differs: %s", stream, diff)
		}
	}
}

func count(all map[string][]string) (n int) {
	for _, lines := range all {
		n += len(lines)
	}
	return n
}

// hubSight returns what tells how far the hub is with blue; nothing while it is away.
func hubSight(t *testing.T, hub string) func() reloader.Forwarding {
	t.Helper()
	at := newHub(open(t, Options{URL: hub, Role: RoleForward}))
	return func() reloader.Forwarding {
		s, err := at.status(testContext(t), "blue")
		if err != nil || s.Forward == nil {
			return reloader.Forwarding{}
		}
		return *s.Forward
	}
}

func roll(t *testing.T, q *Queue, n int) {
	t.Helper()
	ref := reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: fmt.Sprintf("cart-%d", n%7)}
	err := errors.Join(
		q.AppendReload(testContext(t), reloader.Reload{ID: fmt.Sprint("r-", n), Cluster: "blue", Workload: ref, DecidedAt: epoch}),
		q.PutWorkload(testContext(t), reloader.WorkloadRecord{Cluster: "blue", Workload: ref, UID: fmt.Sprint(n)}))
	if err != nil {
		t.Fatal(err)
	}
}

func TestForwardOnceAndInOrderThroughCutsAndKills(t *testing.T) {
	dir := t.TempDir()
	hub := hubServer(t, dir, -1)
	address := hub.ClientURL()
	q := open(t, Options{})
	stop := forwarding(t, q, address, "uid-1", nil)
	forwarding(t, q, address, "uid-1", nil) // an old leader that does not know that it is one
	last := map[string]uint64{}
	for n := range 300 {
		name := fmt.Sprintf("config-%d", n%11)
		last[name] = edit(t, q, name, last[name], n)
		if n%10 == 0 {
			roll(t, q, n)
		}
		switch n {
		case 80:
			stopServer(hub)
		case 160:
			hub = hubServer(t, dir, hubPort(t, address))
		case 200:
			stop()
		case 250:
			stop = forwarding(t, q, address, "uid-1", nil)
		}
	}
	arrives(t, q, address)
	if gaps := hubSight(t, address)().Gaps; len(gaps) > 0 {
		t.Errorf("gaps where nothing is missing: %+v", gaps)
	}
}

func TestForwardGoesOnAtTheEndsOfRecords(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	q := open(t, Options{})
	forwarding(t, q, address, "uid-1", nil)
	roll(t, q, 1)
	ref := reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "cart-1"}
	if err := q.DeleteWorkload(testContext(t), "blue", ref); err != nil {
		t.Fatal(err)
	}
	at := open(t, Options{URL: address, Role: RoleHubAPI})
	gone := make(chan reloader.WorkloadRef, 10)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_ = at.Follow(ctx, Followed{
			Change: func(reloader.StoredChange) {}, Reload: func(uint64, reloader.Reload) {}, Workload: func(reloader.WorkloadRecord) {},
			WorkloadGone: func(_ string, ref reloader.WorkloadRef) { gone <- ref }, CaughtUp: func() {},
		})
	}()
	select {
	case got := <-gone:
		if got != ref {
			t.Errorf("%v is gone", got)
		}
	case <-testContext(t).Done():
		t.Error("the hub still has the record")
	}
}

func TestForwardRefusesASecondClusterOfTheName(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	first, second := open(t, Options{}), open(t, Options{})
	edit(t, first, "a", 0, 1)
	edit(t, second, "b", 0, 1)
	forwarding(t, first, address, "uid-1", nil)
	arrives(t, first, address)
	var log text
	forwarding(t, second, address, "uid-2", &log)
	eventually(t, "the refusal", func() bool { return strings.Contains(log.String(), "the hub refuses this cluster") })
	for _, word := range []string{"uid-1", "uid-2", "--cluster-name"} {
		if !strings.Contains(log.String(), word) {
			t.Errorf("the refusal does not name %s: %s", word, log.String())
		}
	}
	arrives(t, first, address)
}

func TestForwardTellsOfWhatAgedOut(t *testing.T) {
	dir := t.TempDir()
	hub := hubServer(t, dir, -1)
	address := hub.ClientURL()
	sight := hubSight(t, address)
	q := open(t, Options{})
	forwarding(t, q, address, "uid-1", nil)
	last := edit(t, q, "busy", 0, 0)
	arrives(t, q, address)
	eventually(t, "the position", func() bool { return sight().Positions[reloader.ChangeRecords].Sequence == last })
	stopServer(hub)
	const beyond = 20
	for n := range changesPerConfig + beyond {
		last = edit(t, q, "busy", last, n+1)
	}
	hubServer(t, dir, hubPort(t, address))
	eventually(t, "the gap", func() bool {
		gaps := sight().Gaps
		return len(gaps) == 1 && gaps[0].Why == reloader.GapAgedOut && gaps[0].Records == beyond && gaps[0].Kind == reloader.ChangeRecords
	})
}

func TestForwardTellsOfAStreamRemade(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	sight := hubSight(t, address)
	q := open(t, Options{})
	stop := forwarding(t, q, address, "uid-1", nil)
	last := edit(t, q, "a", 0, 1)
	eventually(t, "the position", func() bool { return sight().Positions[reloader.ChangeRecords].Sequence == last })
	stop()
	if err := errors.Join(q.js.DeleteStream(testContext(t), changesStream), q.ensureStreams(testContext(t))); err != nil {
		t.Fatal(err)
	}
	edit(t, q, "a", 0, 2)
	forwarding(t, q, address, "uid-1", nil)
	at := open(t, Options{URL: address, Role: RoleHubAdmin})
	eventually(t, "both", func() bool { return count(contents(t, at.js, changesStream)) == 2 })
	eventually(t, "the gap", func() bool {
		gaps := sight().Gaps
		return len(gaps) == 1 && gaps[0].Why == reloader.GapStreamRemade
	})
}

func TestForwardBringsEverythingToAHubThatForgot(t *testing.T) {
	hub := hubServer(t, t.TempDir(), -1)
	address := hub.ClientURL()
	q := open(t, Options{})
	forwarding(t, q, address, "uid-1", nil)
	last := edit(t, q, "a", 0, 1)
	arrives(t, q, address)
	stopServer(hub)
	edit(t, q, "a", last, 2)
	hubServer(t, t.TempDir(), hubPort(t, address))
	arrives(t, q, address)
}
