package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/tests/poll"
)

const host = "reroll-admission.reroll-system.svc"

// shelf is a Store in memory.
type shelf struct {
	mu      sync.Mutex
	data    map[string][]byte
	version int
	bundle  []byte
	saves   int
}

func (s *shelf) Load(context.Context) (map[string][]byte, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.data == nil {
		return nil, "", nil
	}
	return maps.Clone(s.data), strconv.Itoa(s.version), nil
}

func (s *shelf) Save(_ context.Context, data map[string][]byte, version string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := strconv.Itoa(s.version); s.data != nil && version != known || s.data == nil && version != "" {
		return apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "reroll-admission-tls", errors.New("somebody was faster"))
	}
	s.data, s.version = maps.Clone(data), s.version+1
	s.saves++
	return nil
}

func (s *shelf) Publish(_ context.Context, bundle []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bundle = bundle
	return nil
}

// published returns the authorities that are trusted now.
func (s *shelf) published() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bundle
}

// trusted reports whether an API server that trusts a bundle would speak with who has a certificate.
func trusted(bundle []byte, shown *tls.Certificate, now time.Time) error {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	_, err := shown.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: host, CurrentTime: now})
	return err
}

func managed(store *shelf, lifetime time.Duration) *Managed {
	return NewManaged(Options{
		Store: store, Publish: store.Publish, Of: "admission", Hosts: []string{host, "127.0.0.1"}, Lifetime: lifetime, Logger: slog.New(slog.DiscardHandler),
	})
}

// TestYears: two replicas that come and go use certificates that everyone trusts who has heard of the first CA, also where a process follows, and each
// is followed by another in time. The CA stays although the certificate is deleted.
func TestYears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lifetime = 2 * time.Hour
		ctx, end := context.WithCancel(t.Context())
		defer end()
		store := &shelf{}
		follower := NewManaged(Options{Store: store, Follows: true, Logger: slog.New(slog.DiscardHandler)})
		go func() { _ = follower.Run(ctx) }()
		<-time.After(time.Minute)
		if _, err := follower.Get(nil); !errors.Is(err, errNone) || store.saves > 0 || store.published() != nil {
			t.Fatalf("before there is any: %v, %d writes", err, store.saves)
		}
		all := []*Managed{follower, managed(store, lifetime), managed(store, lifetime)}
		for _, m := range all[1:] {
			go func() { _ = m.Run(ctx) }()
		}
		<-time.After(longestTick)
		synctest.Wait()
		first, serials := store.published(), map[string]bool{}
		for range 24 * 12 {
			<-time.After(5 * time.Minute)
			synctest.Wait()
			for i, m := range all {
				shown, err := m.Get(nil)
				if err != nil {
					t.Fatal(err)
				}
				serials[shown.Leaf.SerialNumber.String()] = true
				if err := trusted(first, shown, time.Now()); err != nil {
					t.Fatalf("%s: replica %d is not trusted: %v", time.Now(), i, err)
				}
				if _, err := shown.Leaf.Verify(x509.VerifyOptions{Roots: m.Authorities(), DNSName: host, CurrentTime: time.Now()}); err != nil {
					t.Errorf("the CA of the process is another one: %v", err)
				}
				if left := time.Until(shown.Leaf.NotAfter); left < lifetime/3-10*time.Minute {
					t.Fatalf("%s: replica %d has a certificate for another %s", time.Now(), i, left)
				}
			}
		}
		if len(serials) < 12 || len(serials) > 24 || store.saves > 24 {
			t.Errorf("%d certificates and %d writes in a day", len(serials), store.saves)
		}
		store.mu.Lock()
		delete(store.data, keyServer)
		delete(store.data, keyKey)
		store.version++
		store.mu.Unlock()
		<-time.After(2 * longestTick)
		synctest.Wait()
		if got := store.published(); string(got) != string(first) {
			t.Error("a certificate that was deleted has taken the CA with it")
		}
		store.mu.Lock()
		defer store.mu.Unlock()
		if len(store.data[keyServer]) == 0 {
			t.Error("the certificate was not made again")
		}
	})
}

// TestLost: what is lost or spoiled is stored again as it was, and what is of no use is made again with the CA that is there.
func TestLost(t *testing.T) {
	for name, c := range map[string]struct {
		lose   func(*shelf)
		before bool
	}{
		"deleted":          {func(s *shelf) { s.data = nil }, true},
		"spoiled":          {func(s *shelf) { s.data[keyCA] = []byte("x") }, true},
		"for another host": {func(s *shelf) { s.data = made(t, time.Hour, "somebody.else.svc") }, false},
		"a long one":       {func(s *shelf) { s.data[keyServer] = make([]byte, 1<<16) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			store := &shelf{}
			m := managed(store, time.Hour)
			if err := m.refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			before, _ := m.Get(nil)
			c.lose(store)
			if err := m.refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			after, _ := m.Get(nil)
			if before.Leaf.Equal(after.Leaf) != c.before {
				t.Errorf("the certificate is still the same: %t", !c.before)
			}
			if err := trusted(store.bundle, after, time.Now()); err != nil {
				t.Errorf("it is not trusted: %v", err)
			}
			if _, err := parse(store.data); err != nil || store.saves != 2 {
				t.Errorf("%d writes, and stored is what cannot be read: %v", store.saves, err)
			}
		})
	}
}

// made returns what would be stored for a host.
func made(t testing.TB, lifetime time.Duration, hosts ...string) map[string][]byte {
	t.Helper()
	next, _, err := Options{Of: "test", Hosts: hosts, Lifetime: lifetime}.next(material{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	data, err := next.encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestIssueClient: a client certificate is good for its cluster, is no server's, and does not outlast the CA. What is no CA signs nothing, and is not quoted.
func TestIssueClient(t *testing.T) {
	data, now := made(t, time.Hour, host), time.Now()
	for lifetime, want := range map[time.Duration]time.Time{time.Hour: now.Add(time.Hour), 11 * 365 * 24 * time.Hour: now.Add(caLifetime)} {
		c, err := IssueClient(data, "east.audit.reroll.dev", lifetime, now)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(c.Certificate, c.Key)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(c.CA)
		o := x509.VerifyOptions{Roots: roots, DNSName: "east.audit.reroll.dev", KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
		if _, err := pair.Leaf.Verify(o); err != nil || pair.Leaf.IsCA || !c.Until.Equal(pair.Leaf.NotAfter) || c.Until.Sub(want).Abs() > 2*time.Second {
			t.Errorf("until %s, want %s: %v", c.Until, want, err)
		}
		o.KeyUsages = nil
		if _, err := pair.Leaf.Verify(o); err == nil {
			t.Error("it is good for a server")
		}
	}
	for name, pair := range map[string][2][]byte{
		"nothing": {}, "no CA": {data[keyServer], data[keyKey]}, "another key": {data[keyCA], data[keyKey]},
		"no key": {data[keyCA], []byte("-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n")},
	} {
		if c, err := IssueClient(map[string][]byte{keyCA: pair[0], keyCAKey: pair[1]}, "x", time.Hour, now); err == nil || c.Key != nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFiles: what replaces the files is used, and what cannot be used is not.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	cert, key, ca := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")
	write := func(lifetime time.Duration, hosts ...string) *x509.Certificate {
		t.Helper()
		data := made(t, lifetime, hosts...)
		if err := errors.Join(os.WriteFile(key, data[keyKey], 0o600), os.WriteFile(cert, data[keyServer], 0o600), os.WriteFile(ca, data[keyCA], 0o600)); err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(data[keyServer], data[keyKey])
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf
	}
	if _, err := NewFiles("test", cert, key); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without files: %v", err)
	}
	if _, err := NewCAs("test", ca); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	for lifetime, want := range map[time.Duration]string{-time.Minute: "expired", time.Hour: "no subject alternative name"} {
		write(lifetime)
		f, err := NewFiles("test", cert, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want that it is refused for %s: %v", want, err)
		}
		over, end := context.WithCancel(t.Context())
		end()
		_ = f.Run(over)
	}
	first := write(time.Hour, host)
	f, err := NewFiles("test", cert, key)
	if err != nil {
		t.Fatal(err)
	}
	cas, err := NewCAs("test", ca)
	if err := errors.Join(err, f.Check()); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = f.Run(ctx) })
	running.Go(func() { _ = cas.Run(ctx) })
	defer running.Wait()
	defer end()
	shows := func(want *x509.Certificate) error {
		shown, err := f.Get(nil)
		if err == nil && !shown.Leaf.Equal(want) {
			err = errors.New("another certificate is shown")
		}
		if err == nil {
			_, err = want.Verify(x509.VerifyOptions{Roots: cas.Pool()})
		}
		return err
	}
	if err := shows(first); err != nil {
		t.Error(err)
	}
	second := write(2*time.Hour, host)
	if err := poll.Until(t.Context(), func(context.Context) error { return shows(second) }); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.content.RunOnce(ctx), shows(second)); err == nil || shows(second) != nil {
		t.Errorf("a bad file replaces the good one, or is not reported: %v", err)
	}
}

// FuzzParse: whatever is stored, it is refused or can be used.
func FuzzParse(f *testing.F) {
	data := made(f, time.Hour, host)
	f.Add(data[keyCA], data[keyCAKey], data[keyServer], data[keyKey])
	f.Add(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE"}), []byte("x"), []byte(nil), []byte(nil))
	f.Fuzz(func(t *testing.T, ca, caKey, server, key []byte) {
		m, err := parse(map[string][]byte{keyCA: ca, keyCAKey: caKey, keyServer: server, keyKey: key})
		if err != nil {
			return
		}
		next, _, err := Options{Of: "test", Hosts: []string{host}, Lifetime: time.Hour}.next(m, time.Now())
		if err != nil {
			t.Fatalf("it was accepted, and is of no use: %v", err)
		}
		if _, err := next.encode(); err != nil {
			t.Error(err)
		}
	})
}
