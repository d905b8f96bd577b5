package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

const (
	cartPath     = "/api/v1/workloads/local/shop/Deployment/cart"
	passwordPath = "local/shop/Secret/password"
)

// get1 sends a GET that must succeed and returns the record.
func get1[V any](t testing.TB, f *fixture, target string) V {
	t.Helper()
	w := f.get(t, target)
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %s", target, w.Code, w.Body)
	}
	var v V
	must(t, json.Unmarshal(w.Body.Bytes(), &v))
	return v
}

// impactOf returns the impact of CLUSTER/NAMESPACE/KIND/NAME, of all keys if none is named.
func impactOf(t testing.TB, f *fixture, config string, keys ...string) view.Impact {
	t.Helper()
	parts := strings.Split(config, "/")
	body, err := json.Marshal(ImpactQuestion{Configs: []SupposedChange{{Cluster: parts[0], Namespace: parts[1], Kind: reloader.ConfigKind(parts[2]), Name: parts[3], Keys: keys}}})
	must(t, err)
	w := f.as(t, "", http.MethodPost, "/api/v1/impact", string(body))
	var got view.List[view.Impact]
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Items) != 1 {
		t.Fatalf("%v: %d %s", err, w.Code, w.Body)
	}
	return got.Items[0]
}

// TestExplain: a workload stands to each of its configs as its verdict says, with the newest change of the config.
func TestExplain(t *testing.T) {
	f := populated(t)
	fresh := aWorkload("shop", "fresh")
	fresh.Hold, fresh.Edges[0].How, fresh.Edges[0].Applied, fresh.Edges[0].Pending = nil, "", reloader.Digest{}, ""
	f.records.PutWorkload(fresh)
	for name, tc := range map[string]struct {
		workload, config string
		state            verdict.State
		change           string
	}{
		"up to date":    {"cart", "configKind=ConfigMap&configName=settings", verdict.UpToDate, aChange(3).ID},
		"held":          {"cart", "configKind=Secret&configName=password", verdict.Held, "c-2"},
		"no baseline":   {"fresh", "configKind=Secret&configName=password", verdict.Pending, "c-2"},
		"no dependency": {"cart", "configKind=ConfigMap&configName=other", verdict.NotADependency, ""},
		"misspelt":      {"cart", "configKind=ConfigMap&configName=setings", verdict.NotADependency, ""},
	} {
		got := get1[view.Explained](t, f, "/api/v1/workloads/local/shop/Deployment/"+tc.workload+"?"+tc.config).Explanations
		if len(got) != 1 || got[0].State != tc.state || got[0].Message == "" || (got[0].Change == nil) != (tc.change == "") || got[0].Change != nil && got[0].Change.ID != tc.change {
			t.Errorf("%s: %+v, want %s with change %q", name, got, tc.state, tc.change)
		}
		if name == "misspelt" && !strings.HasSuffix(got[0].Message, "Did you mean settings?") {
			t.Errorf("%s: %s", name, got[0].Message)
		}
	}
	if all := get1[view.Explained](t, f, cartPath); len(all.Explanations) != 2 || all.Verdict.State != verdict.Held {
		t.Errorf("want one for each dependency: %+v", all)
	}
	away := aStatus()
	away.At = time.Now().Add(-time.Hour)
	f.records.PutCluster(away)
	if x := get1[view.Explained](t, f, cartPath); x.Verdict.State != verdict.Unreachable || x.Explanations[0].State != verdict.Unreachable || len(x.Warnings) != 1 {
		t.Errorf("an absent dispatcher: %+v", x)
	}
}

func TestBulkImpact(t *testing.T) {
	f := populated(t)
	one := `{"cluster":"local","kind":"Secret","namespace":"shop","name":"password","keys":["a"]}`
	w := f.as(t, "", http.MethodPost, "/api/v1/impact", `{"configs":[`+one+`,{"cluster":"east","kind":"ConfigMap","namespace":"a","name":"b"}]}`)
	var got view.List[view.Impact]
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 || len(got.Items) != 2 {
		t.Fatalf("%v: %d %s", err, w.Code, w.Body)
	}
	if got.Items[0].RollsNow != 1 || got.Items[1].RollsNow != 0 || len(got.Items[1].Warnings) != 1 {
		t.Errorf("want one that rolls, and one of an unknown cluster: %+v", got.Items)
	}
	many := strings.Repeat(one+",", maxImpactConfigs)
	cases := map[string]struct {
		contentType, body string
		code              int
	}{
		"as many as may be": {"application/json", `{"configs":[` + strings.TrimSuffix(many, ",") + `]}`, 200},
		"one too many":      {"application/json", `{"configs":[` + many + one + `]}`, 422},
		"no kind of config": {"application/json", strings.Replace(`{"configs":[`+one+`]}`, "Secret", "Pod", 1), 422},
		"another language":  {"application/yaml", `configs: []`, 415},
		"too large":         {"application/json", `{"configs":[` + one + `]` + strings.Repeat(" ", maxImpactBody) + `}`, 413},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/api/v1/impact", strings.NewReader(tc.body))
			r.Header.Set("Content-Type", tc.contentType)
			w := f.do(t, r)
			if w.Code != tc.code {
				t.Errorf("got %d, want %d: %.300s", w.Code, tc.code, w.Body)
			}
			if tc.code >= 400 {
				checkProblem(t, w)
			}
		})
	}
}

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
