package queue

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
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

// newKey returns the seed and the public half of a new key.
func newKey(t *testing.T, create func() (nkeys.KeyPair, error)) (key nkeys.KeyPair, seed, public string) {
	t.Helper()
	key, err := create()
	if err != nil {
		t.Fatal(err)
	}
	raw, seedErr := key.Seed()
	public, publicErr := key.PublicKey()
	if err := errors.Join(seedErr, publicErr); err != nil {
		t.Fatal(err)
	}
	return key, string(raw), public
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

// TestCredentials logs in with a JWT, to a server that knows accounts by its operator.
func TestCredentials(t *testing.T) {
	operator, _, operatorKey := newKey(t, nkeys.CreateOperator)
	_, _, accountKey := newKey(t, nkeys.CreateAccount)
	signer, _, signerKey := newKey(t, nkeys.CreateAccount)
	_, seed, userKey := newKey(t, nkeys.CreateUser)
	account := jwt.NewAccountClaims(accountKey)
	account.SigningKeys.Add(signerKey)
	account.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: 1 << 30, MemoryStorage: 1 << 20, Streams: -1, Consumer: -1}
	accountJWT, accountErr := account.Encode(operator)
	user := jwt.NewUserClaims(userKey)
	user.IssuerAccount = accountKey
	userJWT, userErr := user.Encode(signer)
	creds, credsErr := jwt.FormatUserConfig(userJWT, []byte(seed))
	_, _, systemKey := newKey(t, nkeys.CreateAccount)
	systemJWT, systemErr := jwt.NewAccountClaims(systemKey).Encode(operator)
	resolver := &server.MemAccResolver{}
	err := errors.Join(accountErr, userErr, credsErr, systemErr, resolver.Store(accountKey, accountJWT), resolver.Store(systemKey, systemJWT))
	if err != nil {
		t.Fatal(err)
	}
	s := external(t, t.TempDir(), -1, func(o *server.Options) {
		o.TrustedKeys, o.AccountResolver, o.SystemAccount = []string{operatorKey}, resolver, systemKey
	})
	file := secretFile(t, filepath.Join(t.TempDir(), "reroll.creds"), string(creds))
	q := open(t, Options{URL: s.ClientURL(), Login: Login{Credentials: file}})
	if err := q.Put(testContext(t), hints(20)); err != nil {
		t.Error(err)
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
