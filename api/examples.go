package api

import (
	"maps"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// examples returns for each operation an answer that it may give: of one edit by alice, and the roll that came of it.
func examples() map[string]any {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	after := func(ms int) time.Time { return at.Add(time.Duration(ms) * time.Millisecond) }
	config := reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "settings"}
	cart := reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "cart"}
	alice := []reloader.Candidate{{
		Actor: reloader.Actor{User: "alice", UserAgent: "kubectl/v1.37.1", SourceIP: "10.0.0.7", FieldManager: "kubectl-edit"},
		Verb:  reloader.VerbPatch, AuditID: "9e2f1c1d-6a0b", Time: at, Sure: true,
	}}
	keys := []reloader.KeyChange{{Key: "level", Op: reloader.KeyChanged}}
	change := reloader.Change{
		ID: "c-2", Cluster: "local", Config: config, Type: reloader.ChangeUpdated, UID: "6b1c7d5e", ResourceVersion: "4711",
		Old: reloader.Digest{KeyID: "k1", Sum: "0a1b"}, New: reloader.Digest{KeyID: "k1", Sum: "2c3d"}, Keys: keys, Candidates: alice,
		Source: reloader.SourceAudit, RequestedAt: at, ReceivedAt: after(20), VerifiedAt: after(60),
	}
	reload := reloader.Reload{
		ID:       "r-1",
		Cluster:  "local",
		Workload: cart,
		Dialect:  "reroll",
		Strategy: "annotations",
		Outcome:  reloader.ReasonReloaded,
		Causes: []reloader.Cause{{
			ChangeID: change.ID, Config: config, Why: reloader.ReasonAuto, Clause: "reroll.dev/auto", OldSum: "0a1b", NewSum: "2c3d", Keys: keys,
			Candidates: alice, Source: reloader.SourceAudit, RequestedAt: at, ReceivedAt: after(20), VerifiedAt: after(60),
		}},
		DecidedAt: after(1100), PatchedAt: after(1150),
		Rollout: &reloader.Rollout{Result: reloader.ReasonRolledOut, StartedAt: after(1150), EndedAt: after(18_000)},
	}
	edge := reloader.Edge{
		Config: config, Why: reloader.ReasonAuto, Clause: "reroll.dev/auto", Uses: []reloader.Use{{How: "envFrom", Container: "app"}},
		Applied: reloader.Digest{KeyID: "k1", Sum: "2c3d"}, How: reloader.ReasonReloaded, At: after(1150),
	}
	record := reloader.WorkloadRecord{
		Cluster:   "local",
		Workload:  cart,
		UID:       "11aa22bb",
		Dialect:   "reroll",
		Strategy:  "annotations",
		Edges:     []reloader.Edge{edge},
		Standing:  reloader.Standing{LastReload: "r-1"},
		UpdatedAt: after(18_000),
	}
	status := &reloader.ClusterStatus{
		Cluster: "local",
		Version: "v0.1.0", Instance: "reroll-0", StartedAt: at.Add(-time.Hour), Ready: true,
		At:      at,
		Backlog: reloader.Backlog{Workloads: 1},
		Hearing: reloader.Hearing{SweptAt: at.Add(-time.Minute), Sources: []reloader.SourceStatus{{Source: reloader.SourceAudit, Hints: 12, LastAt: at}}},
	}
	state := &projection.ClusterState{Name: "local", Status: status, Workloads: 1}
	workload := view.FromWorkload(&record, state, at)
	row := view.ChangeRow{Change: change, Reloads: []reloader.Reload{reload}, Pending: []view.PendingReload{}}
	records := projection.New(projection.Limits{})
	records.AddChange(1, change)
	records.AddReload(1, reload)
	supposed := view.Supposed{
		Key: projection.KeyOf("local", config), Dependents: []*reloader.WorkloadRecord{&record}, Clusters: map[string]*projection.ClusterState{"local": state}, Now: at,
	}
	return map[string]any{
		"list-changes": onePage(row), "get-change": row, "list-reloads": onePage(reload), "get-reload": reload, "list-workloads": onePage(workload),
		"get-workload": view.Explained{
			Workload: workload, Warnings: []string{},
			Explanations: []view.Explanation{{Config: config, Verdict: verdict.Judge(view.CaseOf(&record, state, at)), Change: &change}},
		},
		"list-clusters": onePage(view.FromCluster(state, at)),
		"get-self":      view.Self{Authenticated: true, User: "alice", Groups: []string{"developers"}, Version: "v0.1.0"},
		"get-stats":     view.Count(records, at, at.Add(2*time.Second), func(projection.Place) bool { return true }),
		"list-impact":   onePage(view.FromSupposed(supposed)),
	}
}

func onePage[V any](item V) view.List[V] { return view.List[V]{Items: []V{item}, Warnings: []string{}} }

// operations returns what a document describes, by path.
func operations(spec *huma.OpenAPI) (all []*huma.Operation) {
	for _, path := range slices.Sorted(maps.Keys(spec.Paths)) {
		for _, o := range []*huma.Operation{spec.Paths[path].Get, spec.Paths[path].Post} {
			if o != nil {
				all = append(all, o)
			}
		}
	}
	return all
}

// exemplify adds the examples to what is described.
func exemplify(spec *huma.OpenAPI) {
	all := examples()
	for _, o := range operations(spec) {
		if answer := o.Responses["200"]; answer != nil && answer.Content["application/json"] != nil {
			answer.Content["application/json"].Example = all[o.OperationID]
		}
		if o.RequestBody != nil {
			o.RequestBody.Content["application/json"].Example = ImpactQuestion{Configs: []SupposedChange{{Cluster: "local", Kind: "ConfigMap", Namespace: "shop", Name: "settings", Keys: []string{"level"}}}}
		}
	}
}
