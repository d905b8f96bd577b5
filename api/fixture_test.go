package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/contract"
)

// start is the time that everything in the fixtures is counted from.
var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// unlimited is a rate of requests that no test reaches.
const unlimited = 1e9

// fixture is an API over a projection that the test fills.
type fixture struct {
	records *projection.Projection
	metrics *prometheus.Registry
	handler http.Handler
	// unchecked turns the contract check off, for a test of very many answers of one kind.
	unchecked bool
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := newFixtureAt(t, projection.New(projection.Limits{}))
	f.records.SetCaughtUp()
	return f
}

func newFixtureAt(t testing.TB, records *projection.Projection) *fixture {
	t.Helper()
	f := &fixture{records: records}
	f.guardWith(t, Options{Logger: slog.New(slog.DiscardHandler)})
	return f
}

// do sends a request and holds it and its answer against the contract, if the contract knows the route.
func (f *fixture) do(t testing.TB, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	must(t, err)
	r.Body = io.NopCloser(bytes.NewReader(body))
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	if !f.unchecked && contract.Covers(r, w.Code, w.Body.Bytes()) {
		err := served(t).Answer(r, w.Result())
		if err == nil {
			err = served(t).Request(r, body, w.Code, w.Body.Bytes())
		}
		if err != nil {
			t.Errorf("%v\nbody: %.2000s", err, w.Body.String())
		}
	}
	return w
}

// described is an operation of the document.
type described struct{ method, path string }

// operationsOf returns every operation of the served document.
func operationsOf(t *testing.T, f *fixture) (all []described) {
	t.Helper()
	var document struct{ Paths map[string]map[string]any }
	must(t, json.Unmarshal(f.get(t, "/openapi.json").Body.Bytes(), &document))
	for path, methods := range document.Paths {
		for method := range methods {
			all = append(all, described{strings.ToUpper(method), path})
		}
	}
	return all
}

func (f *fixture) get(t testing.TB, target string) *httptest.ResponseRecorder {
	t.Helper()
	return f.do(t, httptest.NewRequest(http.MethodGet, target, nil))
}

// served is the contract that the API serves.
func served(t testing.TB) *contract.Contract {
	t.Helper()
	c, err := readContract()
	must(t, err)
	return c
}

var readContract = sync.OnceValues(func() (*contract.Contract, error) {
	handler, err := New(Options{Records: projection.New(projection.Limits{}), Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	if err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	return contract.New(w.Body.Bytes())
})

// list sends a GET that must succeed and returns the page.
func list[V any](t testing.TB, f *fixture, target string) view.List[V] {
	t.Helper()
	return get1[view.List[V]](t, f, target)
}

func aChange(n int) reloader.Change {
	c := reloader.Change{
		Cluster:         "local",
		Config:          reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "settings"},
		Type:            reloader.ChangeUpdated,
		UID:             "u-1",
		ResourceVersion: fmt.Sprint(n),
		Old:             reloader.Digest{KeyID: "k1", Sum: fmt.Sprintf("%064x", n), Keys: reloader.KeySums(map[string]string{"level": "per-key-fingerprint"})},
		New:             reloader.Digest{KeyID: "k1", Sum: fmt.Sprintf("%064x", n+1), Keys: reloader.KeySums(map[string]string{"level": "per-key-fingerprint"})},
		Keys:            []reloader.KeyChange{{Key: "level", Op: reloader.KeyChanged}},
		Candidates: []reloader.Candidate{{
			Actor: reloader.Actor{User: "alice", UserAgent: "kubectl/v1.37", SourceIP: "10.0.0.7", FieldManager: "kubectl-edit"},
			Verb:  reloader.VerbPatch, AuditID: "a-1", Time: start, Sure: true,
		}},
		Source:      reloader.SourceAudit,
		RequestedAt: start.Add(time.Duration(n) * time.Second),
		ReceivedAt:  start.Add(time.Duration(n)*time.Second + 20*time.Millisecond),
		VerifiedAt:  start.Add(time.Duration(n)*time.Second + 250*time.Millisecond),
	}
	c.ID = reloader.ChangeID(c)
	return c
}

func aReload(n int) reloader.Reload {
	c := aChange(n)
	return reloader.Reload{
		ID:       fmt.Sprintf("r-%d", n),
		Cluster:  "local",
		Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "cart"},
		Dialect:  "stakater",
		Strategy: "env-vars",
		Outcome:  reloader.ReasonReloaded,
		Causes: []reloader.Cause{{
			ChangeID: c.ID, Config: c.Config, Why: reloader.ReasonAuto, Clause: "reloader.stakater.com/auto",
			OldSum: c.Old.Sum, NewSum: c.New.Sum, Keys: c.Keys, Candidates: c.Candidates, Source: c.Source,
			RequestedAt: c.RequestedAt, ReceivedAt: c.ReceivedAt, VerifiedAt: c.VerifiedAt, Container: "app",
		}},
		DecidedAt: c.VerifiedAt.Add(time.Second), PatchedAt: c.VerifiedAt.Add(1100 * time.Millisecond), LatencySeconds: 1.35,
	}
}

func aWorkload(namespace, name string) reloader.WorkloadRecord {
	return reloader.WorkloadRecord{
		Cluster:  "local",
		Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: namespace, Name: name},
		UID:      "w-" + name,
		Dialect:  "stakater",
		Strategy: "env-vars",
		Edges: []reloader.Edge{{
			Config:  reloader.Config{Kind: reloader.Secret, Namespace: namespace, Name: "password"},
			Why:     reloader.ReasonAuto,
			Uses:    []reloader.Use{{How: "envFrom", Container: "app"}, {How: "volume", Keys: []string{"ca.crt"}}},
			Applied: reloader.Digest{KeyID: "k1", Sum: "0abc"}, How: reloader.ReasonReloaded, At: start,
			Pending: "c-2",
		}},
		Standing:  reloader.Standing{Hold: &reloader.Hold{Reason: reloader.ReasonRetrying, Message: "the API server is away", Since: start, Due: start.Add(time.Minute)}, LastReload: "r-1"},
		UpdatedAt: start,
	}
}

// aStatus is the status of the cluster local, published just now.
func aStatus() reloader.ClusterStatus {
	now := time.Now().UTC()
	return reloader.ClusterStatus{
		Cluster: "local",
		UID:     "u-0",
		Version: "v1.2.3", Instance: "reroll-0", StartedAt: now.Add(-time.Hour), Ready: true,
		At:      now,
		Hearing: reloader.Hearing{Sources: []reloader.SourceStatus{{Source: reloader.SourceAudit, Hints: 12, LastAt: now}}, Feeds: []reloader.FeedStatus{{Address: "10.0.0.1:6443", State: "heard", LastAt: now}}, SweptAt: now.Add(-time.Minute)},
		Backlog: reloader.Backlog{Workloads: 2, Pending: 1, Held: map[reloader.Reason]int{reloader.ReasonRetrying: 1}, Pauses: []reloader.Pause{{Namespace: "bank", Selector: "app=till", Until: now.Add(time.Hour), Reason: "audit"}}, Windows: []reloader.Window{{Schedule: "0 22 * * 1-5 6h", Open: true, Next: now.Add(time.Hour)}}},
	}
}

// populated returns an API that has a bit of everything: the config settings, which alice's changes touched, and which cart follows, and the
// Secret password, for which cart is held back.
func populated(t testing.TB) *fixture {
	t.Helper()
	f := newFixture(t)
	for n := 1; n <= 3; n++ {
		f.records.AddChange(uint64(n), aChange(n))
		f.records.AddReload(uint64(n), aReload(n))
	}
	password := aChange(4)
	password.ID, password.Config.Kind, password.Config.Name = "c-2", reloader.Secret, "password"
	f.records.AddChange(4, password)
	cart := aWorkload("shop", "cart")
	cart.Edges = append(cart.Edges, reloader.Edge{
		Config: aChange(1).Config, Why: reloader.ReasonNamed, Clause: "configmap.reloader.stakater.com/reload",
		Uses:    []reloader.Use{{How: "volume", Keys: []string{"level"}}},
		Applied: reloader.Digest{KeyID: "k1", Sum: aChange(3).New.Sum}, How: reloader.ReasonReloaded, At: start.Add(4 * time.Second),
	})
	f.records.PutWorkload(cart)
	f.records.PutCluster(aStatus())
	return f
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
