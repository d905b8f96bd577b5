package queue

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
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
	"github.com/nats-io/nkeys"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/pki"
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

// secretFile writes a file, or overwrites it.
func secretFile(t *testing.T, path, content string) string {
	t.Helper()
	must(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// TestPasswordIsReadAgain changes a password at the server and then in its file, while the queue is open.
func TestPasswordIsReadAgain(t *testing.T) {
	dir, file := t.TempDir(), secretFile(t, filepath.Join(t.TempDir(), "password"), "one\n")
	accept := func(password string) func(*server.Options) {
		return func(o *server.Options) { o.Username, o.Password = "reroll", password }
	}
	s := external(t, dir, -1, accept("one"))
	port := s.Addr().(*net.TCPAddr).Port
	q := open(t, Options{URL: s.ClientURL(), Login: Login{User: "reroll", PasswordFile: file}})
	ctx := testContext(t)
	must(t, q.Put(ctx, []reloader.Hint{hint("before")}))
	stopServer(s)
	external(t, dir, port, accept("two"))
	secretFile(t, file, "two\n")
	eventually(t, "logged in with the new password", func() bool { return q.Put(ctx, []reloader.Hint{hint("after")}) == nil })
}

// TestCredentials: a login by a credentials file shows its JWT and signs with its key; a wrong file is named in the error of the connection.
func TestCredentials(t *testing.T) {
	user, err := nkeys.CreateUser()
	must(t, err)
	seed, err := user.Seed()
	must(t, err)
	const jwt = "-----BEGIN NATS USER JWT-----\na.b.c\n------END NATS USER JWT------\n"
	l := Login{Credentials: secretFile(t, filepath.Join(t.TempDir(), "reroll.creds"), jwt+"\n-----BEGIN USER NKEY SEED-----\n"+string(seed)+"\n------END USER NKEY SEED------\n")}
	var o nats.Options
	must(t, l.option(quiet())(&o))
	shown, err := o.UserJWT()
	signature, signErr := o.SignatureCB([]byte("nonce"))
	if err != nil || signErr != nil || shown != "a.b.c" || user.Verify([]byte("nonce"), signature) != nil {
		t.Errorf("JWT %q, %v, %v", shown, err, signErr)
	}
	s := external(t, "", -1, nil)
	missing := filepath.Join(t.TempDir(), "missing")
	for _, file := range []string{secretFile(t, l.Credentials, jwt), missing} {
		_, err = Dial(Options{URL: s.ClientURL() + "," + s.ClientURL(), Login: Login{Credentials: file}, Logger: quiet()})
		if err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%v", err)
		}
	}
}

// TestTLS reaches a server that asks for a client certificate.
func TestTLS(t *testing.T) {
	ca, err := pki.NewCA("nats")
	must(t, err)
	serverPair, serverErr := ca.Server("nats", "127.0.0.1")
	clientPair, clientErr := ca.Client("reroll")
	certificate, pairErr := tls.X509KeyPair(serverPair.CertPEM, serverPair.KeyPEM)
	must(t, errors.Join(serverErr, clientErr, pairErr))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.CertPEM())
	s := external(t, t.TempDir(), -1, func(o *server.Options) {
		o.TLS, o.TLSVerify, o.TLSTimeout = true, true, waitTime.Seconds()
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	})
	dir := t.TempDir()
	l := Login{
		CAFile: secretFile(t, filepath.Join(dir, "ca.crt"), string(ca.CertPEM())), CertFile: secretFile(t, filepath.Join(dir, "tls.crt"), string(clientPair.CertPEM)),
		KeyFile: secretFile(t, filepath.Join(dir, "tls.key"), string(clientPair.KeyPEM)),
	}
	q := open(t, Options{URL: s.ClientURL(), Login: l})
	if err := q.Put(testContext(t), hints(1)); err != nil {
		t.Error(err)
	}
	if _, err := Open(testContext(t), Options{URL: s.ClientURL(), Login: Login{CAFile: l.CAFile}, Logger: quiet()}); err == nil {
		t.Error("got in without a certificate")
	}
}
