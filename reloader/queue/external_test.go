package queue

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

func TestExternalServerRestarts(t *testing.T) {
	dir := t.TempDir()
	s := external(t, dir, -1, nil)
	port := s.Addr().(*net.TCPAddr).Port
	q := open(t, Options{URL: s.ClientURL()})
	ctx := testContext(t)
	c, j := consume(t, q, acknowledge), follow(t, q)
	first := appendChange(t, q, change("a", "before"), 0)
	if err := q.Put(ctx, []reloader.Hint{hint("before")}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "consuming and following", func() bool { return c.names()["before"] == 1 && j.has("change 1 before") })

	stopServer(s)
	eventually(t, "unhealthy", func() bool { return errors.Is(q.Healthy(ctx), ErrDisconnected) })
	if err := q.Put(ctx, []reloader.Hint{hint("lost")}); !errors.Is(err, ErrDisconnected) {
		t.Errorf("stored without a server: %v", err)
	}

	external(t, dir, port, nil)
	eventually(t, "healthy again", func() bool { return q.Healthy(ctx) == nil })
	eventually(t, "stored again", func() bool { return q.Put(ctx, []reloader.Hint{hint("after")}) == nil })
	appendChange(t, q, change("a", "after"), first)
	eventually(t, "consuming again", func() bool { return c.names()["after"] > 0 })
	eventually(t, "following again", func() bool { return j.has("change 2 after") })
	if got := len(j.sorted()); got != 3 {
		t.Errorf("followed %q; want each change once", j.sorted())
	}
	c.end(t)
}

func TestUnreachableServerIsAnErrorAtStart(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	q, err := Open(testContext(t), Options{URL: "nats://user:geheim@" + address + ",nats://user:geheim@" + address, Logger: quiet()})
	if err == nil || q != nil {
		t.Fatal("opened without a server")
	}
	if !strings.Contains(err.Error(), address) || strings.Contains(err.Error(), "geheim") {
		t.Errorf("error should name the address and no password: %v", err)
	}
}

func TestServerWithoutJetStreamIsAnErrorAtStart(t *testing.T) {
	s := external(t, "", -1, func(o *server.Options) { o.JetStream = false })
	_, err := Open(testContext(t), Options{URL: s.ClientURL(), Logger: quiet()})
	if err == nil || !strings.Contains(err.Error(), "JetStream") {
		t.Errorf("got %v", err)
	}
}

func TestOldServerGetsSingleMessages(t *testing.T) {
	q := open(t, Options{maxAPILevel: -1})
	if q.hints.atomic || q.workloads.atomic {
		t.Fatal("batches for a server that has none")
	}
	if q.streams[hintsStream].CachedInfo().Config.AllowAtomicPublish {
		t.Error("the stream was made with what the server does not know")
	}
	if err := q.Put(testContext(t), hints(100)); err != nil {
		t.Fatal(err)
	}
	c := consume(t, q, acknowledge)
	eventually(t, "all are delivered", func() bool { return len(c.deliveries()) == 100 })
	c.end(t)
	ctx := testContext(t)
	if err := errors.Join(q.PutWorkload(ctx, record("a")), q.DeleteWorkload(ctx, "blue", workload("a"))); err != nil {
		t.Error(err)
	}
}

func TestStreamsAreBroughtUpToDate(t *testing.T) {
	dir := t.TempDir()
	q := open(t, Options{StoreDir: dir, maxAPILevel: -1, HintsMaxBytes: 1 << 20})
	if err := q.Put(testContext(t), hints(3)); err != nil {
		t.Fatal(err)
	}
	closeQueue(t, q)
	q = open(t, Options{StoreDir: dir, HintsMaxBytes: 2 << 20})
	info, err := q.streams[hintsStream].Info(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.Config.MaxBytes != 2<<20 || !info.Config.AllowAtomicPublish || info.State.Msgs != 3 || !q.hints.atomic {
		t.Errorf("stream has %d bytes, atomic %v, %d messages", info.Config.MaxBytes, info.Config.AllowAtomicPublish, info.State.Msgs)
	}
}

func TestStreamsOfALaterVersionAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	q := open(t, Options{StoreDir: dir})
	later := q.streams[hintsStream].CachedInfo().Config
	later.MaxMsgsPerSubject, later.Metadata[generationKey] = 99, "7"
	if _, err := q.js.UpdateStream(testContext(t), later); err != nil {
		t.Fatal(err)
	}
	closeQueue(t, q)
	q = open(t, Options{StoreDir: dir})
	if got := q.streams[hintsStream].CachedInfo().Config.MaxMsgsPerSubject; got != 99 {
		t.Errorf("an older version changed it to %d", got)
	}
}

func TestMismatchIsNamed(t *testing.T) {
	want := wantedStreams(Options{HintsMaxBytes: 5}, 5)[0]
	is := want
	is.MaxMsgsPerSubject = 1
	if err := mismatch(is, want); err == nil || !strings.Contains(err.Error(), "MaxMsgsPerSubject = 1, wanted 16") {
		t.Errorf("got %v", err)
	}
	if err := mismatch(want, want); err != nil {
		t.Error(err)
	}
}

// restricted starts a server whose user "reroll" has only the given permissions on publishing, and an administrator.
func restricted(t *testing.T, publish *server.SubjectPermission) (adminURL, userURL string) {
	t.Helper()
	s := external(t, t.TempDir(), -1, func(o *server.Options) {
		o.Users = []*server.User{
			{Username: "admin", Password: "admin"},
			{Username: "reroll", Password: "reroll", Permissions: &server.Permissions{
				Publish: publish, Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX_reroll.>"}},
			}},
		}
	})
	at := s.Addr().String()
	return "nats://admin:admin@" + at, "nats://reroll:reroll@" + at
}

func TestDeniedPermissionIsNamed(t *testing.T) {
	admin, user := restricted(t, &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.CREATE.>", "reroll.hint.>"}})
	ctx := testContext(t)
	_, err := Open(ctx, Options{URL: user, InboxPrefix: "_INBOX_reroll", Logger: quiet()})
	if !errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), "STREAM.CREATE.HINTS") {
		t.Errorf("got %v", err)
	}
	open(t, Options{URL: admin})
	q := open(t, Options{URL: user, InboxPrefix: "_INBOX_reroll"})
	for name, n := range map[string]int{"one": 1, "a batch": 100} {
		if err := q.Put(ctx, hints(n)); !errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), "reroll.hint.blue") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIngestNeedsFewPermissions(t *testing.T) {
	admin, user := restricted(t, &server.SubjectPermission{Allow: []string{"$JS.API.INFO", "$JS.API.STREAM.INFO.*", "reroll.hint.>"}})
	open(t, Options{URL: admin})
	q := open(t, Options{URL: user, InboxPrefix: "_INBOX_reroll"})
	if err := errors.Join(q.Put(testContext(t), hints(1)), q.Put(testContext(t), hints(100))); err != nil {
		t.Error(err)
	}
}

func TestCloseWithoutServerEnds(t *testing.T) {
	s := external(t, t.TempDir(), -1, nil)
	q := open(t, Options{URL: s.ClientURL()})
	c, j := consume(t, q, acknowledge), follow(t, q)
	eventually(t, "consuming and following", func() bool {
		_, err := q.js.Consumer(testContext(t), hintsStream, consumerName("blue"))
		return err == nil && j.has("caught up")
	})
	stopServer(s)
	closeQueue(t, q)
	for name, err := range map[string]error{"ConsumeHints": <-c.done, "Follow": <-j.done} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s ended with %v", name, err)
		}
	}
}

func TestOptions(t *testing.T) {
	cases := map[string]struct {
		options Options
		wrong   string
	}{
		"no folder":         {Options{}, "store folder"},
		"replicas":          {Options{StoreDir: "x", Replicas: 3}, "replicas"},
		"too small a store": {Options{StoreDir: "x", MaxStore: 1000}, "at least"},
		"hints too large":   {Options{StoreDir: "x", MaxStore: 2 << 20, HintsMaxBytes: 2 << 20}, "exceed"},
		"a bad address":     {Options{URL: "nats://user:geheim@[::1"}, "address 1"},
		"external":          {Options{URL: "a:4222, nats://b:4222", Replicas: 3}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := c.options.withDefaults()
			if (err == nil) != (c.wrong == "") || err != nil && (!strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "geheim")) {
				t.Errorf("got %v; want %q", err, c.wrong)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	full := &jetstream.APIError{ErrorCode: codeStoreFailed, Description: "maximum bytes exceeded"}
	broken := &jetstream.APIError{ErrorCode: codeStoreFailed, Description: "write error"}
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(ErrDenied)
	if err := explain(context.Background(), full); !errors.Is(err, ErrFull) || !errors.Is(err, full) {
		t.Errorf("full: %v", err)
	}
	if err := explain(context.Background(), broken); errors.Is(err, ErrFull) {
		t.Errorf("broken: %v", err)
	}
	if err := explain(ended, context.Canceled); !errors.Is(err, ErrDenied) {
		t.Errorf("denied: %v", err)
	}
}

func TestExternalServerComesBackEmpty(t *testing.T) {
	s := external(t, t.TempDir(), -1, nil)
	port := s.Addr().(*net.TCPAddr).Port
	q := open(t, Options{URL: s.ClientURL()})
	ctx := testContext(t)
	c, j := consume(t, q, acknowledge), follow(t, q)
	first := appendChange(t, q, change("a", "one"), 0)
	appendChange(t, q, change("a", "two"), first)
	eventually(t, "following", func() bool { return j.has("change 2 two") && j.has("caught up") })

	stopServer(s)
	external(t, t.TempDir(), port, nil)
	eventually(t, "healthy again", func() bool { return q.Healthy(ctx) == nil })
	if err := q.Put(ctx, []reloader.Hint{hint("after")}); err != nil {
		t.Error(err)
	}
	appendChange(t, q, change("a", "three"), 0)
	eventually(t, "consuming again", func() bool { return c.names()["after"] > 0 })
	eventually(t, "following again", func() bool {
		return j.has("change 1 three") && j.has("reloads lost") && j.has("workloads lost")
	})
	if diff := cmp.Diff([]string{"change 1 one", "change 2 two", "changes lost", "change 1 three"}, j.about("change")); diff != "" {
		t.Error(diff)
	}
	c.end(t)
}

func TestMissingStreamIsUnhealthy(t *testing.T) {
	q := open(t, Options{})
	ctx := testContext(t)
	if err := q.js.DeleteStream(ctx, hintsStream); err != nil {
		t.Fatal(err)
	}
	if err := q.Healthy(ctx); err == nil || !strings.Contains(err.Error(), hintsStream) {
		t.Errorf("got %v", err)
	}
}
