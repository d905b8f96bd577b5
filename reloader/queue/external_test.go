package queue

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestServerComesBack: what was stored continues after the server was away. While it is, calls fail and nothing that was stored is lost.
func TestServerComesBack(t *testing.T) {
	dir := t.TempDir()
	s := external(t, dir, -1, nil)
	q := open(t, Options{URL: s.ClientURL()})
	c := consume(t, q, acknowledge)
	f := startFollowing(t, q)
	must(t, q.Put(testContext(t), hints(1)))
	must(t, q.AppendReload(testContext(t), reload("web", 1)))
	f.expect(t, "caught up", "reload r-web-1")
	restored := make(chan struct{}, 10)
	keeping, end := context.WithCancel(context.Background())
	defer end()
	go q.KeepRecords(keeping, func() { restored <- struct{}{} })
	stopServer(s)
	eventually(t, "it is unhealthy", func() bool { return q.Healthy(testContext(t)) != nil })
	for name, err := range map[string]error{
		"Put": q.Put(testContext(t), hints(1)), "Put many": q.Put(testContext(t), hints(100)), "AppendReload": q.AppendReload(testContext(t), reload("web", 9)),
	} {
		if !errors.Is(err, ErrDisconnected) {
			t.Errorf("%s: %v", name, err)
		}
	}
	external(t, dir, portOf(t, s), nil)
	<-restored
	must(t, q.Healthy(testContext(t)))
	must(t, q.Put(testContext(t), hints(3)))
	must(t, q.AppendReload(testContext(t), reload("web", 2)))
	f.expect(t, "caught up", "reload r-web-1", "reload r-web-2")
	eventually(t, "hints are delivered again", func() bool { return len(c.names()) == 3 && q.Consuming() == nil })
}

// TestServerLosesEverything: the streams are created again, those who read are told, and hints are delivered as before.
func TestServerLosesEverything(t *testing.T) {
	s := external(t, t.TempDir(), -1, nil)
	q := open(t, Options{URL: s.ClientURL()})
	c := consume(t, q, acknowledge)
	must(t, q.AppendReload(testContext(t), reload("web", 1)))
	f := startFollowing(t, q)
	f.expect(t, "caught up", "reload r-web-1")
	var again atomic.Bool
	keeping, end := context.WithCancel(context.Background())
	defer end()
	go q.KeepRecords(keeping, func() { again.Store(true) })
	stopServer(s)
	external(t, t.TempDir(), portOf(t, s), nil)
	eventually(t, "records are stored again", again.Load)
	must(t, q.Put(testContext(t), hints(2)))
	must(t, q.AppendReload(testContext(t), reload("web", 2)))
	eventually(t, "hints are delivered again", func() bool { return len(c.names()) == 2 })
	f.expect(t, "caught up", "reload r-web-2")
}

// portOf returns the port that a server has or had.
func portOf(t *testing.T, s *server.Server) int {
	t.Helper()
	u, err := url.Parse(s.ClientURL())
	must(t, err)
	port, err := strconv.Atoi(u.Port())
	must(t, err)
	return port
}

// TestOperatorsLimitsStay: what an operator set at an external server is kept, and what Reroll needs is corrected.
func TestOperatorsLimitsStay(t *testing.T) {
	s := external(t, t.TempDir(), -1, nil)
	ctx := testContext(t)
	nc, err := nats.Connect(s.ClientURL())
	must(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	must(t, err)
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{
		Name: HistoryStream, Subjects: []string{"reroll.change.>"}, MaxBytes: 7 << 20, MaxAge: 48 * time.Hour, MaxMsgsPerSubject: 3,
	})
	must(t, err)
	q := open(t, Options{URL: s.ClientURL()})
	found, err := q.JS.Stream(ctx, HistoryStream)
	must(t, err)
	is := found.CachedInfo().Config
	if is.MaxBytes != 7<<20 || is.MaxAge != 48*time.Hour || is.MaxMsgsPerSubject != historyPerSubject || len(is.Subjects) != 3 || !is.AllowAtomicPublish {
		t.Errorf("the stream became %+v", is)
	}
}

// TestUnsuitableServer: what cannot work is refused with what to change, and is permanent; a server that is away is not.
func TestUnsuitableServer(t *testing.T) {
	small := external(t, t.TempDir(), -1, func(o *server.Options) { o.MaxPayload = 256 << 10 })
	locked := external(t, t.TempDir(), -1, func(o *server.Options) { o.Username, o.Password = "u", "p" })
	plain := external(t, t.TempDir(), -1, func(o *server.Options) { o.JetStream = false })
	dir := t.TempDir()
	open(t, Options{StoreDir: dir})
	for name, tc := range map[string]struct {
		o         Options
		permanent bool
		is        error
	}{
		"small messages":    {Options{URL: small.ClientURL()}, true, ErrUnsuitable},
		"wrong login":       {Options{URL: locked.ClientURL()}, true, nats.ErrAuthorization},
		"missing password":  {Options{URL: locked.ClientURL(), Login: Login{User: "u", PasswordFile: filepath.Join(dir, "missing")}}, true, os.ErrNotExist},
		"no JetStream":      {Options{URL: plain.ClientURL()}, false, jetstream.ErrJetStreamNotEnabled},
		"nobody there":      {Options{URL: "nats://127.0.0.1:1"}, false, nats.ErrNoServers},
		"no folder":         {Options{}, true, nil},
		"folder of another": {Options{StoreDir: dir}, true, ErrLocked},
	} {
		tc.o.Logger = quiet()
		_, err := Open(testContext(t), tc.o)
		if err == nil || Permanent(err) != tc.permanent || tc.is != nil && !errors.Is(err, tc.is) {
			t.Errorf("%s: %v, permanent: %t", name, err, Permanent(err))
		}
	}
}

// TestEarlierStreams: a store with streams of an earlier version is refused with what to do.
func TestEarlierStreams(t *testing.T) {
	for name, earlier := range map[string]jetstream.StreamConfig{
		"another policy":    {Name: HintsStream, Subjects: []string{"reroll.hint.>"}},
		"the same subjects": {Name: "CHANGES", Subjects: []string{"reroll.change.>"}},
	} {
		s := external(t, t.TempDir(), -1, nil)
		nc, err := nats.Connect(s.ClientURL())
		must(t, err)
		defer nc.Close()
		js, err := jetstream.New(nc)
		must(t, err)
		_, err = js.CreateStream(testContext(t), earlier)
		must(t, err)
		_, err = Open(testContext(t), Options{URL: s.ClientURL(), Logger: quiet(), MaxStore: testStore})
		if !errors.Is(err, ErrUnsuitable) || !Permanent(err) || !strings.Contains(err.Error(), "empty --data-dir") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOlderServer: a server before 2.14 is refused, with its version and the one that is needed.
func TestOlderServer(t *testing.T) {
	s := external(t, "", -1, func(o *server.Options) { o.JetStream = false })
	nc, err := nats.Connect(s.ClientURL())
	must(t, err)
	defer nc.Close()
	_, err = nc.Subscribe("$JS.API.INFO", func(m *nats.Msg) {
		_ = m.Respond([]byte(`{"type":"io.nats.jetstream.api.v1.account_info_response","api":{"level":3}}`))
	})
	must(t, err)
	must(t, nc.Flush())
	_, err = Open(testContext(t), Options{URL: s.ClientURL(), Logger: quiet()})
	if !errors.Is(err, ErrUnsuitable) || !Permanent(err) || !strings.Contains(err.Error(), "2.14 or later") || !strings.Contains(err.Error(), server.VERSION) {
		t.Errorf("%v", err)
	}
}
