package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// TestExplainTellsNoChangeThatIsNotShown: who may see a workload need not be allowed to see the configs of other namespaces and clusters that it names.
func TestExplainTellsNoChangeThatIsNotShown(t *testing.T) {
	for name, c := range map[string]struct {
		config reloader.Config
		edge   reloader.Edge
	}{
		"not shared":           {rules, reloader.Edge{Config: rules, Why: reloader.ReasonNotShared, How: reloader.ReasonBaseline, At: start}},
		"shared until a while": {rules, reloader.Edge{Config: rules, Why: reloader.ReasonNotShared, Applied: reloader.Digest{KeyID: "k", Sum: "new"}, How: reloader.ReasonReloaded, At: start}},
		"may not be followed":  {followedRules, reloader.Edge{Config: followedRules, Why: reloader.ReasonNamed}},
	} {
		f := newFixture(t)
		f.followRules()
		own := rules
		own.Cluster = ""
		change := aChange(5)
		change.Cluster, change.Config = "c2", own
		f.records.AddChange(5, change)
		proxy := aFollower("c2", "proxy", c.config)
		proxy.Edges = []reloader.Edge{c.edge}
		f.records.PutWorkload(proxy)
		all := get1[view.Explained](t, f, "/api/v1/workloads/c2/edge/Deployment/proxy").Explanations
		if said := fmt.Sprint(all); len(all) != 1 || strings.Contains(said, "alice") || strings.Contains(said, change.ID) {
			t.Errorf("%s: it is told of the change: %s", name, said)
		}
	}
}

// TestOneSetNeedsAttention: what the list of unsettled workloads, which status and the dashboard read, says of a workload is what explain says of it,
// for a workload of each kind of trouble and of none. A workload that needs attention is never among those that only wait.
func TestOneSetNeedsAttention(t *testing.T) {
	f := newFixture(t)
	rollout := func(result reloader.Reason, undone bool) func(*reloader.WorkloadRecord) {
		return func(r *reloader.WorkloadRecord) {
			r.Rollout = &reloader.Rollout{Result: result, StartedAt: start, Undone: undone}
		}
	}
	holds := func(reason reloader.Reason) func(*reloader.WorkloadRecord) {
		return func(r *reloader.WorkloadRecord) {
			r.Edges[0].Pending, r.Hold = "c-1", &reloader.Hold{Reason: reason, Since: start}
		}
	}
	want := map[verdict.State]func(*reloader.WorkloadRecord){
		verdict.UpToDate:      func(r *reloader.WorkloadRecord) { r.Edges[0].Restarts = "it is used as env" },
		verdict.Failed:        holds(reloader.ReasonRefused),
		verdict.Held:          holds(reloader.ReasonOutsideWindow),
		verdict.Frozen:        holds(reloader.ReasonFrozen),
		verdict.Pending:       func(r *reloader.WorkloadRecord) { r.Edges[0].Pending = "c-1" },
		verdict.Invalid:       func(r *reloader.WorkloadRecord) { r.Problems = []string{"reroll.dev/auto: what?"} },
		verdict.Unreadable:    func(r *reloader.WorkloadRecord) { r.Missing = []reloader.Missing{{Unreadable: "forbidden"}} },
		verdict.MissingConfig: func(r *reloader.WorkloadRecord) { r.Missing = []reloader.Missing{{Config: rules}} },
		verdict.Stalled:       rollout(reloader.ReasonStalled, false),
		verdict.NotRolledOut:  rollout(reloader.ReasonOvertaken, true),
		verdict.Rolling:       rollout(reloader.ReasonRolling, false),
		verdict.NotRolled:     func(r *reloader.WorkloadRecord) { r.Edges[0].How = reloader.ReasonDryRun },
		verdict.NoConfigs:     func(r *reloader.WorkloadRecord) { r.Edges = nil },
	}
	for state, change := range want {
		r := aWorkload("shop", strings.ToLower(string(state)))
		r.Hold, r.Rollout, r.Edges[0].Pending = nil, nil, ""
		r.Edges[0].Applied, r.Edges[0].How, r.Edges[0].At = reloader.Digest{KeyID: "k", Sum: "s"}, reloader.ReasonReloaded, start
		change(&r)
		f.records.PutWorkload(r)
	}
	unsettled := map[string]verdict.Verdict{}
	for _, w := range list[view.Workload](t, f, "/api/v1/workloads?unsettled=true").Items {
		unsettled[w.Workload.Name] = w.Verdict
	}
	if only := list[view.Workload](t, f, "/api/v1/workloads?restarts=true").Items; len(only) != 1 || only[0].Workload.Name != "uptodate" {
		t.Errorf("of those whose strategy cannot be kept, the list has %+v", only)
	}
	for state := range want {
		name := strings.ToLower(string(state))
		said := get1[view.Explained](t, f, "/api/v1/workloads/local/shop/Deployment/"+name).Verdict
		if said.State != state || said.NeedsAttention != state.NeedsAttention() || said.NeedsAttention && said.Waits {
			t.Errorf("%s: explain says %+v", state, said)
		}
		listed, is := unsettled[name]
		if is != (said.NeedsAttention || said.Waits) || is && listed != said {
			t.Errorf("%s: listed as unsettled: %t, %+v; explain says %+v", state, is, listed, said)
		}
		if only := list[view.Workload](t, f, "/api/v1/workloads?state="+string(state)).Items; len(only) != 1 || only[0].Verdict != said {
			t.Errorf("%s: the list of this state has %+v", state, only)
		}
	}
}
