package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func withoutToken(r *http.Request) { r.Header.Del("Authorization") }

func TestClientCertificateIsBoundToItsCluster(t *testing.T) {
	stranger := newAuthority(t, "another CA")
	r := start(t, nil)
	cases := map[string]struct {
		cert   tls.Certificate
		code   int // 0 means that the handshake fails
		reason string
	}{
		"bare name":          {r.clientCA.client("a", named("prod")), 403, "a common name may be that of anything"},
		"name":               {r.clientCA.client("b", named("prod.audit.reroll.dev")), 204, "the common name is the cluster in our domain"},
		"DNS name":           {r.clientCA.client("c", named("any", "other.example", "prod.audit.reroll.dev")), 204, "or a DNS name is"},
		"plain DNS name":     {r.clientCA.client("d", named("any", "prod")), 403, "a plain DNS name may mean a host"},
		"other cluster":      {r.clientCA.client("e", named("test", "test.audit.reroll.dev")), 403, "it speaks for another"},
		"wildcard":           {r.clientCA.client("f", named("any", "*.audit.reroll.dev")), 403, "nothing speaks for all"},
		"part of the domain": {r.clientCA.client("g", named("x", "prod.audit.reroll.dev.evil.example")), 403, "the domain is the end"},
		"no names":           {r.clientCA.client("h", named("")), 403, "it speaks for nobody"},
		"another CA":         {stranger.client("i", named("prod.audit.reroll.dev")), 0, "it is not ours"},
		"for servers": {r.clientCA.client("j", func(c *x509.Certificate) {
			c.Subject.CommonName, c.ExtKeyUsage = "prod.audit.reroll.dev", []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}), 0, "a server's certificate proves no client"},
		"expired": {r.clientCA.client("k", func(c *x509.Certificate) {
			c.Subject.CommonName, c.NotAfter = "prod.audit.reroll.dev", time.Now().Add(-time.Minute)
		}), 0, "it is over"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := r.do(r.client(true, c.cert), r.request(strings.NewReader(body), withoutToken))
			if got.code != c.code || (err != nil) != (c.code == 0) {
				t.Errorf("got %d, %v; want %d: %s", got.code, err, c.code, c.reason)
			}
		})
	}
}

// TestWaysIn: which of a token and a certificate a server asks for, and what is let in by it.
func TestWaysIn(t *testing.T) {
	insecure := func(o *Options, tokens string) {
		*o = Options{Address: "localhost:0", InsecureHTTP: true, Sink: o.Sink, Registerer: o.Registerer, TokenFile: tokens}
	}
	for name, c := range map[string]struct {
		change             func(o *Options)
		certificate, token bool
		code               int // 0 means that the handshake fails
	}{
		"certificates alone, none":            {func(o *Options) { o.TokenFile = "" }, false, true, 0},
		"certificates alone":                  {func(o *Options) { o.TokenFile = "" }, true, true, 204},
		"tokens alone, none":                  {func(o *Options) { o.ClientCAs = nil }, true, false, 401},
		"tokens alone":                        {func(o *Options) { o.ClientCAs = nil }, true, true, 204},
		"over HTTP, a token is wanted":        {func(o *Options) { insecure(o, o.TokenFile) }, false, false, 401},
		"over HTTP, open to this machine":     {func(o *Options) { insecure(o, "") }, false, false, 204},
		"TLS 1.1, which is too old to listen": {func(*Options) {}, false, true, 0},
	} {
		r := start(t, func(_ *rig, o *Options) { c.change(o) })
		client := r.client(true)
		if c.certificate {
			client = r.client(true, r.clientCA.client("a", named("prod.audit.reroll.dev")))
		}
		if strings.HasPrefix(name, "TLS 1.1") {
			client.Transport.(*http.Transport).TLSClientConfig.MaxVersion = tls.VersionTLS11
		}
		change := func(*http.Request) {}
		if !c.token {
			change = withoutToken
		}
		if got, err := r.do(client, r.request(strings.NewReader(body), change)); got.code != c.code || (err != nil) != (c.code == 0) {
			t.Errorf("%s: got %d, %v; want %d", name, got.code, err, c.code)
		}
	}
}

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestCredentialsAreThoseOfNow(t *testing.T) {
	now := &clock{now: time.Now()}
	r := start(t, func(_ *rig, o *Options) { o.Now = now.Now })
	cert := r.clientCA.client("a", named("prod.audit.reroll.dev"))
	kept := r.client(true, cert)
	post := func(c *http.Client, change func(*http.Request)) int {
		t.Helper()
		got, _ := r.do(c, r.request(strings.NewReader(body), change))
		return got.code
	}
	if code := post(kept, withoutToken); code != 204 {
		t.Fatalf("before: got %d", code)
	}

	t.Run("tokens", func(t *testing.T) {
		r.clientCA.write("tokens", []byte("prod:another-token-of-some-length\n"))
		if code := post(r.client(true), nil); code != 204 {
			t.Errorf("within the time of trust: got %d", code)
		}
		now.advance(fileCheck)
		if code := post(r.client(true), nil); code != 401 {
			t.Errorf("with the old token: got %d", code)
		}
		with := func(r *http.Request) { r.Header.Set("Authorization", "bearer another-token-of-some-length") }
		if code := post(r.client(true), with); code != 204 {
			t.Errorf("with the new token: got %d", code)
		}
		for _, bad := range []string{"", "prod:short\n"} {
			r.clientCA.write("tokens", []byte(bad))
			now.advance(fileCheck)
			if code := post(r.client(true), with); code != 204 {
				t.Errorf("after the file became %q: got %d, want the last good one to stay", bad, code)
			}
		}
		if n := strings.Count(r.log.String(), "the changed file cannot be used"); n != 2 {
			t.Errorf("%d bad files logged, want 2", n)
		}
	})
	t.Run("client CA", func(t *testing.T) {
		next := newAuthority(t, "next CA")
		r.clients.Store(next.pool())
		if code := post(kept, withoutToken); code != 401 {
			t.Errorf("old certificate on an old connection: got %d, want 401", code)
		}
		if code := post(r.client(true, cert), withoutToken); code != 0 {
			t.Errorf("old certificate on a new connection: got %d, want a failed handshake", code)
		}
		if code := post(r.client(true, next.client("n", named("prod.audit.reroll.dev"))), withoutToken); code != 204 {
			t.Errorf("new certificate: got %d", code)
		}
	})
	t.Run("expiry on a kept connection", func(t *testing.T) {
		again := newAuthority(t, "again CA")
		r.clients.Store(again.pool())
		client := r.client(true, again.client("x", func(c *x509.Certificate) {
			c.Subject.CommonName, c.NotAfter = "prod.audit.reroll.dev", time.Now().Add(30*time.Minute)
		}))
		if code := post(client, withoutToken); code != 204 {
			t.Fatalf("before: got %d", code)
		}
		now.advance(45 * time.Minute)
		if code := post(client, withoutToken); code != 401 {
			t.Errorf("after: got %d, want 401", code)
		}
	})
}

// TestFirstClientCertificateToEnd: those count that speak for a cluster, for an hour after they were last accepted.
func TestFirstClientCertificateToEnd(t *testing.T) {
	now := &clock{now: time.Now()}
	r := start(t, func(_ *rig, o *Options) { o.Now = now.Now })
	expect := func(want, reason string) {
		t.Helper()
		got := ""
		if first := r.server.ClientCertificate(); first != nil {
			got = strings.TrimSuffix(first.Subject.CommonName, certificateDomain)
		}
		if got != want {
			t.Errorf("that of %q, want %q: %s", got, want, reason)
		}
	}
	post := func(name string, lasting time.Duration) {
		t.Helper()
		cert := r.clientCA.client(name, func(c *x509.Certificate) {
			c.Subject.CommonName, c.NotAfter = name+certificateDomain, time.Now().Add(lasting)
		})
		r.must(r.client(true, cert), r.request(strings.NewReader(body), withoutToken))
	}
	r.must(r.client(true), r.request(strings.NewReader(body), nil))
	post("Nobody", time.Minute)
	expect("", "a token has no end, and a certificate of no cluster does not count")
	post("west", 24*time.Hour)
	expect("west", "it is the only one")
	post("prod", 10*time.Minute)
	post("west", 24*time.Hour)
	expect("prod", "the other one ends later")
	now.advance(clientMemory + time.Minute)
	expect("", "nobody has shown one for an hour")
	later := &x509.Certificate{NotAfter: now.Now().Add(time.Hour)}
	r.server.auth.accept(later)
	if r.server.ClientCertificate() != later {
		t.Error("the old one was replaced")
	}
}
