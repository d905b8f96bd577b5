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
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const host = "reroll-admission.reroll-system.svc"

// shelf is a Store in memory.
type shelf struct {
	mu      sync.Mutex
	data    map[string][]byte
	version int
	bundle  []byte
	fail    error
	saves   int
}

func (s *shelf) Load(context.Context) (map[string][]byte, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.data == nil || s.fail != nil {
		return nil, "", s.fail
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

func managed(store Store, lifetime time.Duration) *Managed {
	return NewManaged(Options{Store: store, Of: "admission", Hosts: []string{host, "127.0.0.1"}, Lifetime: lifetime, Logger: slog.New(slog.DiscardHandler)})
}

// TestDay: two replicas that come and go use certificates that every API server trusts at any time, also one that hears of a new
// authority late, and each certificate and authority is followed by another in time.
func TestDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lifetime = 2 * time.Hour
		ctx, end := context.WithCancel(t.Context())
		defer end()
		store := &shelf{}
		replicas := []*Managed{managed(store, lifetime), managed(store, lifetime)}
		for _, m := range replicas {
			go func() { _ = m.Run(ctx) }()
		}
		synctest.Wait()
		late := store.published()
		authorities := map[string]bool{}
		for range 24 * 12 {
			<-time.After(5 * time.Minute)
			synctest.Wait()
			now := time.Now()
			for i, m := range replicas {
				shown, err := m.Get(nil)
				if err != nil {
					t.Fatal(err)
				}
				for name, bundle := range map[string][]byte{"now": store.published(), "five minutes ago": late} {
					if err := trusted(bundle, shown, now); err != nil {
						t.Fatalf("%s: replica %d is not trusted by who was told %s: %v", now, i, name, err)
					}
				}
				if left := m.Expiry().Sub(now); left < lifetime/3-lifetime/10-5*time.Minute {
					t.Fatalf("%s: replica %d has a certificate for another %s", now, i, left)
				}
			}
			late = store.published()
			authorities[string(late)] = true
		}
		if n := len(authorities); n < 8 || n > 30 {
			t.Errorf("%d bundles in a day", n)
		}
		if store.saves > 60 {
			t.Errorf("%d writes in a day", store.saves)
		}
	})
}

// TestLost: a Secret that is lost or spoiled is made again, and what was shown last is still trusted.
func TestLost(t *testing.T) {
	for name, lose := range map[string]func(*shelf){
		"deleted":           func(s *shelf) { s.data = nil },
		"spoiled":           func(s *shelf) { s.data[keyCAs] = []byte("x") },
		"with another key":  func(s *shelf) { s.data[keyCAKey] = s.data[keyKey] },
		"for another host":  func(s *shelf) { spoilHost(t, s) },
		"of no use at all":  func(s *shelf) { s.data = map[string][]byte{} },
		"with too long one": func(s *shelf) { s.data[keyServer] = make([]byte, maxStored+1) },
	} {
		t.Run(name, func(t *testing.T) {
			store := &shelf{}
			m := managed(store, time.Hour)
			if err := m.refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			before, _ := m.Get(nil)
			lose(store)
			if err := m.refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			after, _ := m.Get(nil)
			if before.Leaf.Equal(after.Leaf) {
				t.Error("the certificate is still the same")
			}
			if err := trusted(store.bundle, after, time.Now()); err != nil {
				t.Errorf("the new one is not trusted: %v", err)
			}
			if err := trusted(store.bundle, before, time.Now()); err != nil && name != "for another host" {
				t.Errorf("the old one, which a connection may still show, is not trusted: %v", err)
			}
		})
	}
}

// spoilHost stores a good certificate that is for somebody else.
func spoilHost(t *testing.T, s *shelf) {
	t.Helper()
	next, _, err := plan{"test", []string{"somebody.else.svc"}, time.Hour, 2 * time.Hour}.next(material{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if s.data, err = next.encode(); err != nil {
		t.Fatal(err)
	}
}

// TestTrouble: while the store is away the last certificate stays.
func TestTrouble(t *testing.T) {
	store := &shelf{}
	m := managed(store, time.Hour)
	if _, err := m.Get(nil); !errors.Is(err, errNone) || !m.Expiry().IsZero() {
		t.Errorf("before there is any: %v", err)
	}
	if err := m.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	store.fail = errors.New("the API server is away")
	if err := m.refresh(t.Context()); !errors.Is(err, store.fail) {
		t.Errorf("error %v", err)
	}
	if shown, err := m.Get(nil); err != nil || trusted(store.bundle, shown, time.Now()) != nil {
		t.Errorf("the certificate is gone: %v", err)
	}
}

// TestFiles: what replaces the files is used, and what cannot be used is not.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	write := func(lifetime time.Duration) *x509.Certificate {
		t.Helper()
		next, _, err := plan{"test", []string{host}, lifetime, 2 * lifetime}.next(material{}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		data, err := next.encode()
		if err := errors.Join(err, os.WriteFile(cert, data[keyServer], 0o600), os.WriteFile(key, data[keyKey], 0o600)); err != nil {
			t.Fatal(err)
		}
		return next.server.Leaf
	}
	if _, err := NewFiles(cert, key, slog.New(slog.DiscardHandler)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without files: %v", err)
	}
	first := write(time.Hour)
	f, err := NewFiles(cert, key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	shown := func() *x509.Certificate {
		f.checked = time.Time{}
		c, _ := f.Get(nil)
		return c.Leaf
	}
	if !shown().Equal(first) || !f.Expiry().Equal(first.NotAfter) {
		t.Error("the first is not shown")
	}
	second := write(2 * time.Hour)
	if !shown().Equal(second) {
		t.Error("the second is not shown")
	}
	for _, bad := range [][]byte{nil, make([]byte, maxFile+1)} {
		if err := os.WriteFile(key, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if !shown().Equal(second) {
			t.Error("a bad file replaces the good one")
		}
	}
}

// FuzzParse: whatever is stored, it is refused or can be used.
func FuzzParse(f *testing.F) {
	next, _, err := plan{"test", []string{host}, time.Hour, 2 * time.Hour}.next(material{}, time.Now())
	if err != nil {
		f.Fatal(err)
	}
	data, err := next.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[keyCAs], data[keyCAKey], data[keyServer], data[keyKey])
	f.Add(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE"}), []byte("x"), []byte(nil), []byte(nil))
	f.Fuzz(func(t *testing.T, cas, caKey, server, key []byte) {
		m, err := parse(map[string][]byte{keyCAs: cas, keyCAKey: caKey, keyServer: server, keyKey: key})
		if err != nil {
			return
		}
		if _, _, err := (plan{"test", []string{host}, time.Hour, 2 * time.Hour}).next(m, time.Now()); err != nil {
			t.Errorf("it was accepted, and is of no use: %v", err)
		}
		if _, err := m.encode(); err != nil {
			t.Error(err)
		}
	})
}

// TestFollower: a process that only follows shows what another one has made, also when that is renewed, and stores and publishes nothing.
func TestFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		store := &shelf{}
		follower := NewManaged(Options{Store: store, Follows: true, Logger: slog.New(slog.DiscardHandler)})
		go func() { _ = follower.Run(ctx) }()
		<-time.After(time.Minute)
		if _, err := follower.Get(nil); !errors.Is(err, errNone) || store.saves > 0 || store.published() != nil {
			t.Fatalf("before there is any: %v, %d writes", err, store.saves)
		}
		keeper := managed(store, 2*time.Hour)
		go func() { _ = keeper.Run(ctx) }()
		for range 24 * 12 {
			<-time.After(5 * time.Minute)
			synctest.Wait()
			shown, err := follower.Get(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := trusted(store.published(), shown, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestLongAuthority: an authority that lasts for years stays the one that signs, whatever becomes of the certificate, which changes in the process
// that shows it. What it signed for clients is believed all the time.
func TestLongAuthority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lifetime = 24 * time.Hour
		ctx, end := context.WithCancel(t.Context())
		defer end()
		store := &shelf{}
		m := NewManaged(Options{
			Store: store, Of: "ingest", Hosts: []string{host}, Lifetime: lifetime, CALifetime: 10 * 365 * 24 * time.Hour, Logger: slog.New(slog.DiscardHandler),
		})
		go func() { _ = m.Run(ctx) }()
		synctest.Wait()
		first, serials := store.published(), map[string]bool{}
		for range 12 {
			<-time.After(lifetime / 2)
			synctest.Wait()
			shown, err := m.Get(nil)
			if err != nil {
				t.Fatal(err)
			}
			serials[shown.Leaf.SerialNumber.String()] = true
			if err := trusted(first, shown, time.Now()); err != nil {
				t.Errorf("who trusts the first authority does not trust the certificate of now: %v", err)
			}
			if _, err := shown.Leaf.Verify(x509.VerifyOptions{Roots: m.Authorities(), DNSName: host, CurrentTime: time.Now()}); err != nil {
				t.Errorf("the authorities of the process are others: %v", err)
			}
		}
		if len(serials) < 5 {
			t.Errorf("%d certificates in six lifetimes", len(serials))
		}
		// Somebody deletes the certificate, and not the authority.
		store.mu.Lock()
		delete(store.data, keyServer)
		delete(store.data, keyKey)
		store.version++
		store.mu.Unlock()
		<-time.After(2 * longestTick)
		synctest.Wait()
		if got := store.published(); string(got) != string(first) {
			t.Error("a certificate that was deleted has taken the authority with it")
		}
		store.mu.Lock()
		defer store.mu.Unlock()
		if len(store.data[keyServer]) == 0 {
			t.Error("the certificate was not made again")
		}
	})
}
