package app

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/reroll-dev/reroll/api/ops"
	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/kube"
)

func failures(checks []ops.Check) map[string]string {
	found := map[string]string{}
	for _, c := range checks {
		if c.Err != nil {
			found[c.Name] = c.Err.Error()
		}
	}
	return found
}

func TestHealthFollowsItsProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h health
		var broken atomic.Bool
		h.add("steady", func(context.Context) error { return nil })
		h.add("moody", func(context.Context) error {
			if broken.Load() {
				return errBroken
			}
			return nil
		})
		h.add("stuck", func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) })
		if got := failures(h.state()); len(got) != 3 {
			t.Errorf("before the first look all must fail: %v", got)
		}

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- h.run(ctx) }()
		synctest.Wait()
		if got := failures(h.state()); len(got) != 1 || got["stuck"] != errNotProbed.Error() {
			t.Errorf("a stuck probe must not hold up the others: %v", got)
		}
		broken.Store(true)
		<-time.After(probeTime + probeInterval)
		synctest.Wait()
		if got := failures(h.state()); got["moody"] != errBroken.Error() || got["stuck"] != context.DeadlineExceeded.Error() || got["steady"] != "" {
			t.Errorf("after %s: %v", probeTime, got)
		}
		h.add("late", func(context.Context) error { return nil })
		if got := failures(h.state()); got["late"] != errNotProbed.Error() {
			t.Errorf("a part that has just come up must fail until it is looked at: %v", got)
		}
		<-time.After(probeTime + probeInterval)
		synctest.Wait()
		if got := failures(h.state()); got["late"] != "" {
			t.Errorf("a part that came up late is not looked at: %v", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestControlThatCannotBeRead: everything is held back until it can, and readiness says why.
func TestControlThatCannotBeRead(t *testing.T) {
	var now control.Control
	c := &controls{set: func(to control.Control) { now = to }}
	if err := c.healthy(t.Context()); err != nil {
		t.Fatalf("before it was looked for: %v", err)
	}
	refused := errors.New("no answer in 10s")
	c.fail(refused)
	if f, frozen := now.Freeze(time.Now()); !frozen || !f.Until.IsZero() || f.Reason == "" {
		t.Errorf("held back %v: %+v, want all until it is read", frozen, f)
	}
	if err := c.healthy(t.Context()); !errors.Is(err, refused) {
		t.Errorf("ready although nobody knows of a freeze: %v", err)
	}
	c.say(nil)
	c.fail(refused) // which comes too late
	if _, frozen := now.Freeze(time.Now()); frozen || c.healthy(t.Context()) != nil {
		t.Errorf("held back %v, %v although there is no ConfigMap", frozen, c.healthy(t.Context()))
	}
}

// TestControlNamesNobody: with --redact-actors the dispatcher does not learn who froze and paused, so that no status can store it.
func TestControlNamesNobody(t *testing.T) {
	for _, redact := range []bool{true, false} {
		var now control.Control
		c := &controls{redact: redact, set: func(to control.Control) { now = to }}
		c.say(map[string]string{control.Key: "{freeze: {by: alice}, pauses: [{by: alice, until: 2200-01-01T00:00:00Z}]}"})
		f, frozen := now.Freeze(time.Now())
		if !frozen || len(now.Pauses) != 1 || (f.By == "") != redact || (now.Pauses[0].By == "") != redact {
			t.Errorf("redact %v: freeze %+v, pauses %+v", redact, f, now.Pauses)
		}
	}
}

// TestCertificatesAreReported: of each use when it ends, as soon as there is one.
func TestCertificatesAreReported(t *testing.T) {
	p := &program{registry: prometheus.NewRegistry()}
	var current *x509.Certificate
	p.inspect("ingest", func() *x509.Certificate { return current })
	if _, err := p.registry.Gather(); err != nil {
		t.Errorf("before there is a certificate: %v", err)
	}
	current = &x509.Certificate{NotBefore: time.Unix(1000, 0), NotAfter: time.Unix(2000, 0)}
	want := `# HELP reroll_certificate_expiry_timestamp_seconds When a certificate in use ends.
# TYPE reroll_certificate_expiry_timestamp_seconds gauge
reroll_certificate_expiry_timestamp_seconds{certificate="ingest"} 2000
# HELP reroll_certificate_not_before_timestamp_seconds When the same certificate began to be valid.
# TYPE reroll_certificate_not_before_timestamp_seconds gauge
reroll_certificate_not_before_timestamp_seconds{certificate="ingest"} 1000
`
	if err := testutil.GatherAndCompare(p.registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestRedactedHintsNameNobody(t *testing.T) {
	var stored []reloader.Hint
	sink := redacting{ingest.SinkFunc(func(_ context.Context, hints []reloader.Hint) error {
		stored = hints
		return nil
	})}
	given := []reloader.Hint{{Cluster: "local", AuditID: "a-1", Actor: reloader.Actor{
		User: "alice", AuthenticatedUser: "ci", SourceIP: "10.0.0.7", UserAgent: "kubectl/v1.37", FieldManager: "kubectl-edit",
	}}}
	if err := sink.Put(t.Context(), given); err != nil {
		t.Fatal(err)
	}
	want := []reloader.Hint{{Cluster: "local", AuditID: "a-1", Actor: reloader.Actor{UserAgent: "kubectl/v1.37", FieldManager: "kubectl-edit"}}}
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if given[0].Actor.User != "alice" {
		t.Error("what was given has changed")
	}
}

// TestTouched: a hint of the watch can be recorded whatever the field manager is called, and was not written in the time to come.
func TestTouched(t *testing.T) {
	now := time.Date(2026, 11, 27, 1, 0, 0, 0, time.UTC)
	config := reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "db"}
	for name, touch := range map[string]kube.Touch{
		"unknown":     {Config: config, Verb: reloader.VerbDelete},
		"clock ahead": {Config: config, Verb: reloader.VerbUpdate, Manager: "kubectl", At: now.Add(time.Hour)},
		"long name":   {Config: config, Verb: reloader.VerbUpdate, Manager: strings.Repeat("é", reloader.MaxFieldManagerLength), At: now},
	} {
		h := touched(touch, "local", now).Hint()
		if _, err := reloader.Encode(h); err != nil || h.Source != reloader.SourceWatch || h.Config != config || h.Time != now || h.Received != now {
			t.Errorf("%s: %v, %+v", name, err, h)
		}
	}
	if h := touched(kube.Touch{Config: config, At: now.Add(-time.Minute)}, "local", now).Hint(); h.Time != now.Add(-time.Minute) {
		t.Errorf("written at %s", h.Time)
	}
}

var errBroken = errors.New("broken")

// TestHouseComesDownInReverse: what came up later is gone before what it needs is told to end, and all that fails is named.
func TestHouseComesDownInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(slog.New(slog.DiscardHandler))
		var order []string
		for _, name := range []string{"store", "worker"} {
			h.start(name, func(ctx context.Context) error {
				<-ctx.Done()
				order = append(order, name)
				return ctx.Err()
			})
		}
		for _, name := range []string{"second", "third"} {
			h.onEnd(name, func(context.Context) error { order = append(order, name); return errBroken })
		}
		synctest.Wait()
		err := h.close()
		if diff := cmp.Diff([]string{"third", "second", "worker", "store"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if !errors.Is(err, errBroken) || err.Error() != "stop third: broken\nstop second: broken" {
			t.Errorf("error %q does not name both parts that failed, and no other", err)
		}
		if err := h.close(); err != nil || len(order) != 4 {
			t.Errorf("a second time ends something again: %v, %v", order, err)
		}
		select {
		case err := <-h.failed:
			t.Errorf("an end that was asked for is a failure: %v", err)
		default:
		}
	})
}

// TestHouseEndsInTime shows that all ends together fit into the time that a pod is given.
func TestHouseEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(slog.New(slog.DiscardHandler))
		var given []string
		end := func(takes time.Duration) func(context.Context) error {
			return func(ctx context.Context) error {
				deadline, _ := ctx.Deadline()
				given = append(given, time.Until(deadline).String())
				select {
				case <-ctx.Done():
				case <-time.After(takes):
				}
				return ctx.Err()
			}
		}
		h.onEnd("store", end(0))
		for _, name := range []string{"a", "b", "c"} {
			h.onEnd(name, end(time.Hour))
		}
		h.onEnd("quick", end(10*time.Second))
		start := time.Now()
		if err := h.close(); err == nil || strings.Count(err.Error(), context.DeadlineExceeded.Error()) != 3 {
			t.Errorf("error %v does not name the three parts that stayed", err)
		}
		if diff := cmp.Diff([]string{"25s", "25s", "15s", "1s", "1s"}, given); diff != "" {
			t.Errorf("time for each part (-want +got):\n%s", diff)
		}
		if took := time.Since(start); took != 51*time.Second {
			t.Errorf("the end took %s", took)
		}
	})
}

func TestHouseFailsWithItsParts(t *testing.T) {
	for name, tc := range map[string]struct {
		ends error
		want string
	}{
		"an error":            {errBroken, "worker ended: broken"},
		"an end without word": {nil, "worker ended: no reason given"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(slog.New(slog.DiscardHandler))
			h.start("worker", func(context.Context) error { return tc.ends })
			if err := h.wait(t.Context()); err == nil || err.Error() != tc.want {
				t.Errorf("error %v, want %s", err, tc.want)
			}
			if err := h.close(); !errors.Is(err, tc.ends) {
				t.Errorf("close: %v", err)
			}
		})
	}
}
