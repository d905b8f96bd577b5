package queue

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/pki"
)

// secretFile writes a file, or overwrites it.
func secretFile(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
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
	if err := q.Put(ctx, []reloader.Hint{hint("before")}); err != nil {
		t.Fatal(err)
	}
	stopServer(s)
	external(t, dir, port, accept("two"))
	secretFile(t, file, "two\n")
	eventually(t, "logged in with the new password", func() bool { return q.Put(ctx, []reloader.Hint{hint("after")}) == nil })
}

// TestCredentials: a login by a credentials file shows its JWT and signs with its key; a file without a key is an error at once.
func TestCredentials(t *testing.T) {
	user, err := nkeys.CreateUser()
	must(t, err)
	seed, err := user.Seed()
	must(t, err)
	const jwt = "-----BEGIN NATS USER JWT-----\na.b.c\n------END NATS USER JWT------\n"
	for content, good := range map[string]bool{jwt + "\n-----BEGIN USER NKEY SEED-----\n" + string(seed) + "\n------END USER NKEY SEED------\n": true, jwt: false} {
		file := secretFile(t, filepath.Join(t.TempDir(), "reroll.creds"), content)
		options, err := Login{Credentials: file}.options(quiet())
		var o nats.Options
		for _, option := range options {
			must(t, option(&o))
		}
		if (err == nil) != good || good && o.UserJWT == nil {
			t.Fatalf("%d options, %v", len(options), err)
		}
		if !good {
			continue
		}
		shown, err := o.UserJWT()
		signature, signErr := o.SignatureCB([]byte("nonce"))
		if err != nil || signErr != nil || shown != "a.b.c" || user.Verify([]byte("nonce"), signature) != nil {
			t.Errorf("JWT %q, %v, %v", shown, err, signErr)
		}
	}
}

// TestTLS reaches a server that asks for a client certificate.
func TestTLS(t *testing.T) {
	ca, err := pki.NewCA("nats")
	if err != nil {
		t.Fatal(err)
	}
	serverPair, serverErr := ca.Server("nats", "127.0.0.1")
	clientPair, clientErr := ca.Client("reroll")
	certificate, pairErr := tls.X509KeyPair(serverPair.CertPEM, serverPair.KeyPEM)
	if err := errors.Join(serverErr, clientErr, pairErr); err != nil {
		t.Fatal(err)
	}
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
