package tracing

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/tracing/collector"
)

var (
	at     = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	config = reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "settings"}
	hint   = reloader.Hint{Cluster: "blue", Config: config, Verb: reloader.VerbPatch, Source: reloader.SourceAudit, AuditID: "5a0a4e9f-7f4e-4b34-9b56-0000000000af", Time: at, Received: second(1)}
	change = reloader.Change{
		ID: "c-1", Cluster: "blue", Config: config, Type: reloader.ChangeUpdated, Source: reloader.SourceAudit,
		Candidates: []reloader.Candidate{{AuditID: hint.AuditID, Time: at, Actor: reloader.Actor{User: "alice@example.com"}}}, ReceivedAt: second(1), VerifiedAt: second(4),
	}
	reload = reloader.Reload{
		ID: "r-1", Cluster: "blue", Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "cart"}, Outcome: reloader.ReasonReloaded, Strategy: "env-vars",
		Causes: []reloader.Cause{
			{ChangeID: "c-0", Config: config, Candidates: []reloader.Candidate{{AuditID: "another"}}, VerifiedAt: second(2)},
			{ChangeID: "c-1", Config: config, Candidates: change.Candidates, VerifiedAt: second(4)},
		},
		DecidedAt: second(6), PatchedAt: second(7),
	}
)

func second(n int) time.Time { return at.Add(time.Duration(n) * time.Second) }

// startCollector starts a collector, and has the environment name it.
func startCollector(t *testing.T) *collector.Collector {
	t.Helper()
	c := collector.Start()
	t.Cleanup(c.Close)
	t.Setenv(endpointVariable, c.URL)
	return c
}

// one returns the only span of that name.
func one(t *testing.T, c *collector.Collector, name string) *wire.Span {
	t.Helper()
	spans := c.Named(name)
	if len(spans) != 1 {
		t.Fatalf("%d spans are called %s, want 1", len(spans), name)
	}
	return spans[0]
}

func start(t *testing.T) *Tracer {
	t.Helper()
	tracer, err := New(t.Context(), "serve", "v1.2.3", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tracer.Close(context.WithoutCancel(t.Context())) })
	return tracer
}

// TestOneRequestIsOneTrace has a request told of stage by stage, to a collector that takes spans by OTLP.
func TestOneRequestIsOneTrace(t *testing.T) {
	got := startCollector(t)
	tracer := start(t)
	tracer.Hints([]reloader.Hint{hint}, second(2), second(3), nil)
	tracer.Change(change, second(5))
	tracer.Reload(reload, second(8))
	rolled := reload
	rolled.Rollout = &reloader.Rollout{Result: reloader.ReasonRolledOut, StartedAt: second(7), EndedAt: second(9)}
	tracer.Reload(rolled, second(10))
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	for _, stage := range []struct {
		name, under string
		start, end  int
		header      string
	}{
		{"receive", "", 1, 2, ""},
		{"commit", "receive", 2, 3, hint.TraceParent(hint.MessageKey())},
		{"verify", "commit", 1, 5, change.TraceParent(change.MessageKey())},
		{"decide", "verify", 4, 6, ""},
		{"patch", "decide", 6, 7, ""},
		{"settle", "decide", 7, 8, reload.TraceParent(reload.MessageKey())},
		{"rollout", "settle", 7, 9, rolled.TraceParent(rolled.MessageKey())},
	} {
		s := one(t, got, stage.name)
		if own := collector.Identity(s); !strings.HasPrefix(own, "00-5a0a4e9f7f4e4b349b560000000000af-") || stage.header != "" && own != stage.header {
			t.Errorf("%s is %s; the header of its message is %q", stage.name, own, stage.header)
		}
		var above []byte
		if stage.under != "" {
			above = one(t, got, stage.under).SpanId
		}
		if !bytes.Equal(s.ParentSpanId, above) {
			t.Errorf("%s is under %x, want %s, which is %x", stage.name, s.ParentSpanId, stage.under, above)
		}
		if times := [2]uint64{s.StartTimeUnixNano, s.EndTimeUnixNano}; times != [2]uint64{uint64(second(stage.start).UnixNano()), uint64(second(stage.end).UnixNano())} {
			t.Errorf("%s: %v, want seconds %d to %d", stage.name, times, stage.start, stage.end)
		}
	}
	want := map[string]string{"k8s.cluster.name": "blue", "k8s.namespace.name": "shop", "reroll.change": "c-1", "reroll.change.type": "Updated", "reroll.config": config.String(), "reroll.source": "audit"}
	if diff := cmp.Diff(want, collector.Attributes(one(t, got, "verify"))); diff != "" {
		t.Errorf("what is told of a change, and not who made it (-want +got):\n%s", diff)
	}
	if links := one(t, got, "decide").Links; len(links) != 1 || bytes.Equal(links[0].TraceId, one(t, got, "decide").TraceId) {
		t.Errorf("the other change is linked to by %v", links)
	}
	if name, version := got.About("service.name"), got.About("service.version"); name != "reroll-serve" || version != "v1.2.3" {
		t.Errorf("sent by %s %s", name, version)
	}
}

// TestChangeOfANamelessHint: the hint of a collection, of a generated name or of a rotation names no config, and the change that it led to does.
func TestChangeOfANamelessHint(t *testing.T) {
	got := startCollector(t)
	tracer := start(t)
	nameless := hint
	nameless.Config.Name = ""
	tracer.Hints([]reloader.Hint{nameless}, second(2), second(3), nil)
	tracer.Change(change, second(5))
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if commit, verify := one(t, got, "commit"), one(t, got, "verify"); !bytes.Equal(verify.ParentSpanId, commit.SpanId) {
		t.Errorf("verify is under %x, and nothing has that ID: commit is %x", verify.ParentSpanId, commit.SpanId)
	}
}

// TestStagesOfOtherKinds: what no request led to, what was not patched, and what was not stored.
func TestStagesOfOtherKinds(t *testing.T) {
	got := startCollector(t)
	tracer := start(t)
	nobody := hint
	nobody.AuditID = ""
	tracer.Hints([]reloader.Hint{nobody}, second(2), second(3), nil)
	tracer.Hints([]reloader.Hint{hint}, second(2), second(3), errors.New("the disk is full"))
	tracer.Change(reloader.Change{ID: "c-2", Cluster: "blue", Config: config, Type: reloader.ChangeUpdated, Source: reloader.SourceSweep, VerifiedAt: second(4)}, second(5))
	tracer.Reload(reloader.Reload{ID: "r-2", Cluster: "blue", Workload: reload.Workload, Outcome: reloader.ReasonReloaded, DecidedAt: second(6), Requested: "now"}, second(4))
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := one(t, got, "commit"); s.Status.GetCode() != wire.Status_STATUS_CODE_ERROR || s.Status.Message != "the disk is full" {
		t.Errorf("what was not stored has the status %v", s.Status)
	}
	if s := one(t, got, "verify"); len(s.ParentSpanId) != 0 || s.StartTimeUnixNano != uint64(second(4).UnixNano()) {
		t.Errorf("what a sweep has found: %v", s)
	}
	if s := one(t, got, "decide"); len(s.ParentSpanId) != 0 || s.StartTimeUnixNano != uint64(second(6).UnixNano()) {
		t.Errorf("what somebody has asked for: %v", s)
	}
	if s := one(t, got, "settle"); s.StartTimeUnixNano > s.EndTimeUnixNano {
		t.Errorf("clocks that differ: %d to %d", s.StartTimeUnixNano, s.EndTimeUnixNano)
	}
	if n := len(got.Named("patch")) + len(got.Named("rollout")); n != 0 {
		t.Errorf("%d spans of what has not been", n)
	}
}

func TestOffUnlessACollectorIsNamed(t *testing.T) {
	cases := map[string]struct {
		environment map[string]string
		wanted      bool
		fault       string
	}{
		"nothing":               {nil, false, ""},
		"a collector":           {map[string]string{endpointVariable: "http://127.0.0.1:4318"}, true, ""},
		"one for spans":         {map[string]string{tracesEndpointVariable: "http://127.0.0.1:4318/v1/traces"}, true, ""},
		"turned off":            {map[string]string{endpointVariable: "http://127.0.0.1:4318", disabledVariable: "TRUE"}, false, ""},
		"no spans":              {map[string]string{endpointVariable: "http://127.0.0.1:4318", exporterVariable: "none"}, false, ""},
		"another protocol":      {map[string]string{endpointVariable: "http://127.0.0.1:4317", protocolVariable: "grpc"}, true, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
		"another way":           {map[string]string{endpointVariable: "http://127.0.0.1:4317", exporterVariable: "zipkin"}, true, "OTEL_TRACES_EXPORTER=zipkin"},
		"the protocol there is": {map[string]string{endpointVariable: "http://127.0.0.1:4318", tracesProtocolVariable: onlyProtocol}, true, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{endpointVariable, tracesEndpointVariable, protocolVariable, tracesProtocolVariable, exporterVariable, disabledVariable} {
				t.Setenv(variable, tc.environment[variable])
			}
			if Wanted() != tc.wanted {
				t.Fatalf("wanted: %t", !tc.wanted)
			}
			if !tc.wanted {
				return
			}
			tracer, err := New(t.Context(), "serve", "v1", slog.New(slog.DiscardHandler))
			if tc.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fault) {
					t.Fatalf("got %v, want %s", err, tc.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := tracer.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCollectorThatHangsHoldsUpNobody: telling returns although nothing is taken, and so does the end when its time is over.
func TestCollectorThatHangsHoldsUpNobody(t *testing.T) {
	over := make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer collector.Close()
	defer close(over)
	t.Setenv(endpointVariable, collector.URL)
	tracer := start(t)
	for range 10_000 {
		tracer.Hints([]reloader.Hint{hint}, second(2), second(3), nil)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tracer.Close(ctx); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(hint.TraceParent("m"))
	f.Add("")
	f.Add("00-" + strings.Repeat("0", 32) + "-" + strings.Repeat("0", 16) + "-01")
	f.Fuzz(func(t *testing.T, parent string) {
		if c, ok := parse(parent); ok && (!c.IsValid() || !strings.Contains(parent, c.TraceID().String()) || !strings.Contains(parent, c.SpanID().String())) {
			t.Errorf("%q became %s %s", parent, c.TraceID(), c.SpanID())
		}
	})
}
