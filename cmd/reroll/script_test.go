package main

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
)

// TestMain lets scripts run this binary as reroll, and under the names by which kubectl knows it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"reroll": main, "kubectl-reroll": main, "kubectl_complete-reroll": main})
}

type fleetKey struct{}

// TestScripts runs the command line against a real API. A script in the folder fleet sees two clusters, others one.
func TestScripts(t *testing.T) {
	for folder, second := range map[string]bool{"testdata/script": false, "testdata/script/fleet": true} {
		testscript.Run(t, testscript.Params{
			Dir: folder,
			Setup: func(env *testscript.Env) error {
				f, err := newFleet(second)
				if err != nil {
					return err
				}
				env.Defer(f.Close)
				env.Setenv("REROLL_SERVER", f.URL)
				env.Values[fleetKey{}] = f
				return nil
			},
			Cmds:          map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "many": many, "serves": serves},
			UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		})
	}
}

// exits runs a command and compares the code that it ends with: exits CODE COMMAND…
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var ended interface{ ExitCode() int }
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &ended) {
		got = ended.ExitCode()
	} else if err != nil {
		ts.Fatalf("%s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("code %d, want %d", got, want)
	}
}

// many records so many changes: many N.
func many(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	f := ts.Value(fleetKey{}).(*fleet)
	for i := range n {
		f.change("c-many-"+strconv.Itoa(i), reloader.ChangeUpdated, reloader.ConfigMap, "settings", "dave")
	}
}

// serves has REROLL_SERVER be a server that answers everything with a status and a body: serves STATUS BODY.
func serves(ts *testscript.TestScript, _ bool, args []string) {
	status, err := strconv.Atoi(args[0])
	ts.Check(err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Asked-With", r.Header.Get("Authorization"))
		w.WriteHeader(status)
		_, _ = w.Write([]byte(args[1]))
	}))
	ts.Defer(server.Close)
	ts.Setenv("REROLL_SERVER", server.URL)
}

// fleet is a real API over records that a script can add to.
type fleet struct {
	*httptest.Server
	records *projection.Projection
	next    uint64
}

// newFleet serves a bit of everything: Deployment cart, which alice's change of settings has rolled, and which is held back for a
// Secret; Deployment till, which waits for nothing; and a second cluster, if there must be one, whose cart uses a config of another namespace.
func newFleet(second bool) (*fleet, error) {
	f := &fleet{records: projection.New(projection.Limits{})}
	handler, err := api.New(api.Options{
		Records: f.records, Version: "v1.2.3",
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), RequestRate: 1e9,
	})
	if err != nil {
		return nil, err
	}
	f.fill()
	if second {
		f.records.PutCluster(statusOf("west"))
		shared := edgeOf(reloader.ConfigMap, "shared", "")
		shared.Config.Namespace = "bank"
		f.records.PutWorkload(workloadOf("west", "shop", "cart", edgeOf(reloader.ConfigMap, "settings", ""), shared))
	}
	f.records.SetCaughtUp()
	f.Server = httptest.NewServer(handler)
	return f, nil
}

func (f *fleet) fill() {
	f.change("c-0", reloader.ChangeBaseline, reloader.ConfigMap, "settings", "")
	f.change("c-1", reloader.ChangeUpdated, reloader.ConfigMap, "settings", "alice")
	f.change("c-2", reloader.ChangeUpdated, reloader.Secret, "password", "bob")
	f.reload("r-1", "c-1")
	cart := workloadOf("local", "shop", "cart", edgeOf(reloader.ConfigMap, "settings", ""), edgeOf(reloader.Secret, "password", "c-2"))
	cart.Hold = &reloader.Hold{Reason: reloader.ReasonRefused, Message: "deployments.apps is forbidden", Since: time.Now().Add(-time.Hour), Attempts: 3}
	cart.LastReload = "r-1"
	f.records.PutWorkload(cart)
	f.records.PutWorkload(workloadOf("local", "bank", "till", reloader.Edge{
		Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: "bank", Name: "rates"}, Why: reloader.ReasonAuto,
		Uses: []reloader.Use{{How: "envFrom", Container: "app"}}, How: reloader.ReasonBaseline, At: time.Now(),
	}))
	f.records.PutCluster(statusOf("local"))
}

func (f *fleet) change(id string, kind reloader.ChangeType, config reloader.ConfigKind, name, user string) {
	f.next++
	now := time.Now().Add(-5 * time.Minute).UTC()
	c := reloader.Change{
		ID: id, Cluster: "local", Config: reloader.Config{Kind: config, Namespace: "shop", Name: name}, Type: kind, Source: reloader.SourceAudit,
		Old: reloader.Digest{KeyID: "k", Sum: "00112233445566778899"}, New: reloader.Digest{KeyID: "k", Sum: "aabbccddeeff00112233"},
		Keys:        []reloader.KeyChange{{Key: "level", Op: reloader.KeyChanged}, {Key: "extra", Op: reloader.KeyAdded}},
		RequestedAt: now.Add(-100 * time.Millisecond), VerifiedAt: now,
	}
	if user != "" {
		c.Candidates = []reloader.Candidate{{
			Actor: reloader.Actor{User: user, UserAgent: "kubectl/v1.37\x1b[31m", SourceIP: "10.0.0.7"}, Verb: reloader.VerbPatch, Time: now, Sure: true,
		}}
	}
	f.records.AddChange(f.next, c)
}

func (f *fleet) reload(id, change string) {
	f.next++
	now := time.Now().Add(-4 * time.Minute).UTC()
	f.records.AddReload(f.next, reloader.Reload{
		ID:        id,
		Cluster:   "local",
		Workload:  reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "cart"},
		Dialect:   "stakater",
		Strategy:  "env-vars",
		Outcome:   reloader.ReasonReloaded,
		DecidedAt: now, PatchedAt: now, LatencySeconds: 1.5,
		Causes: []reloader.Cause{{
			ChangeID: change, Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "settings"}, Why: reloader.ReasonAuto,
			Candidates: []reloader.Candidate{{Actor: reloader.Actor{User: "alice"}, Sure: true}}, RequestedAt: now.Add(-1500 * time.Millisecond),
		}},
		Rollout: &reloader.Rollout{Result: reloader.ReasonRolledOut, StartedAt: now, EndedAt: now},
	})
}

func edgeOf(kind reloader.ConfigKind, name, pending string) reloader.Edge {
	return reloader.Edge{
		Config: reloader.Config{Kind: kind, Namespace: "shop", Name: name}, Why: reloader.ReasonAuto, Clause: "reloader.stakater.com/auto",
		Uses:    []reloader.Use{{How: "volume", Container: "app", Keys: []string{"level"}}},
		Applied: reloader.Digest{KeyID: "k", Sum: "aabbccddeeff00112233"}, How: reloader.ReasonReloaded, At: time.Now(), Pending: pending,
	}
}

func workloadOf(cluster, namespace, name string, edges ...reloader.Edge) reloader.WorkloadRecord {
	return reloader.WorkloadRecord{
		Cluster: cluster, Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: namespace, Name: name}, UID: "u-" + name,
		Dialect: "stakater", Strategy: "env-vars", Edges: edges, UpdatedAt: time.Now(),
	}
}

func statusOf(cluster string) reloader.ClusterStatus {
	now := time.Now().UTC()
	return reloader.ClusterStatus{
		Cluster: cluster,
		Version: "v1.2.3", Instance: "reroll-0", StartedAt: now.Add(-time.Hour), Ready: true,
		At:      now,
		Hearing: reloader.Hearing{Sources: []reloader.SourceStatus{{Source: reloader.SourceAudit, Hints: 12, LastAt: now}}, SweptAt: now.Add(-time.Minute)},
		Backlog: reloader.Backlog{Workloads: 2, Pending: 1, Held: map[reloader.Reason]int{reloader.ReasonRefused: 1}, Pauses: []reloader.Pause{{Namespace: "bank", Selector: "app=ledger", Until: now.Add(time.Hour), Reason: "audit"}}},
	}
}
