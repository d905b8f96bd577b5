package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// run runs the command line.
func run(t *testing.T, args ...string) (out, errs string, err error) {
	t.Helper()
	root := Root("v1.2.3")
	CheckUsage(root)
	return execute(t.Context(), root, args...)
}

func execute(ctx context.Context, root *cobra.Command, args ...string) (out, errs string, err error) {
	var stdout, stderr bytes.Buffer
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	root.SetArgs(args)
	err = root.ExecuteContext(ctx)
	return stdout.String(), stderr.String(), err
}

// hub answers the questions of status and check.
type hub struct {
	clusters  []view.Cluster
	workloads []view.Workload
	warnings  []string
}

func (h hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any
	switch r.URL.Path {
	case "/api/v1/self":
		answer = view.Self{Version: "v1.2.3"}
	case "/api/v1/clusters":
		answer = view.List[view.Cluster]{Items: h.clusters}
	case "/api/v1/workloads":
		items := h.workloads
		if r.URL.Query().Has("restarts") {
			items = nil
		}
		answer = view.List[view.Workload]{Items: items, Warnings: h.warnings}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// TestStatusAndCheckAreGates: they exit with 0 only if nothing is wrong and the answer is complete.
func TestStatusAndCheckAreGates(t *testing.T) {
	in := func(h verdict.Health) view.Cluster {
		return view.Cluster{ClusterStatus: reloader.ClusterStatus{Cluster: "east"}, Standing: verdict.Standing{Health: h}}
	}
	stands := func(s verdict.State) view.Workload {
		return view.Workload{WorkloadRecord: reloader.WorkloadRecord{Cluster: "east"}, Verdict: verdict.Verdict{State: s, NeedsAttention: s.NeedsAttention()}}
	}
	well := []view.Cluster{in(verdict.Healthy)}
	for name, c := range map[string]struct {
		hub
		code int
		says string // by check
	}{
		"all is well":       {hub{well, []view.Workload{stands(verdict.Frozen)}, nil}, ExitDone, ""},
		"a cluster is away": {hub{append(well, in(verdict.Away)), nil, nil}, ExitFailed, ""},
		"not all is known":  {hub{well, nil, []string{"The stored records are still being read."}}, ExitFailed, "still being read"},
		"no cluster":        {hub{nil, nil, nil}, ExitFailed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.hub)
			defer server.Close()
			for _, args := range [][]string{{"status", "--exit-code"}, {"check"}} {
				out, errs, err := run(t, append(args, "--server", server.URL)...)
				if code, tell := ExitCode(err); code != c.code || tell {
					t.Errorf("%v: code %d, want %d: %v\n%s%s", args, code, c.code, err, out, errs)
				}
				if args[0] == "check" && !strings.Contains(out, c.says) {
					t.Errorf("check does not say %q:\n%s%s", c.says, out, errs)
				}
			}
		})
	}
}

// TestTypedCommands: the next command has the flags by which the user chose the cluster, as far as it takes them.
func TestTypedCommands(t *testing.T) {
	for next, want := range map[string]string{
		"reroll reload shop/Deployment/web":       "reroll reload shop/Deployment/web --kubeconfig 'my files/c' --context east",
		"reroll resume -A --reroll-namespace ops": "reroll resume -A --reroll-namespace ops --kubeconfig 'my files/c' --context east",
		"reroll check": "reroll check --kubeconfig 'my files/c' --context east --reroll-namespace mine --server http://a",
		"kubectl -n shop rollout status deploy/web": "kubectl -n shop rollout status deploy/web --kubeconfig 'my files/c' --context east",
		"": "",
		"kubectl --context west -n shop get pods web": "kubectl --context west -n shop get pods web --kubeconfig 'my files/c'",
	} {
		root := Root("v1.2.3")
		cmd, _, err := root.Find([]string{"status"})
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags([]string{"--context", "east", "--kubeconfig", "my files/c", "--reroll-namespace=mine", "--server", "http://a"}); err != nil {
			t.Fatal(err)
		}
		g := &globals{}
		if got := g.typed(cmd, next); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestRefs(t *testing.T) {
	for text, want := range map[string]ref{
		"deploy/cart":                {kind: "Deployment", name: "cart"},
		"shop/Deployment/cart":       {namespace: "shop", kind: "Deployment", name: "cart"},
		"east/shop/deployments/cart": {cluster: "east", namespace: "shop", kind: "Deployment", name: "cart"},
		"STS/db":                     {kind: "StatefulSet", name: "db"},
		"cart":                       {name: "cart"},
		"shop/cart":                  {namespace: "shop", name: "cart"},
	} {
		if got, err := (&globals{}).parseRef(text, workloadKinds(), true); got != want || err != nil {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "/cart", "deploy/", "shop/secret/x", "shop//deploy/cart"} {
		if got, err := (&globals{}).parseRef(text, workloadKinds(), true); err == nil {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
	if got, err := (&globals{}).parseRef("cart", configKinds(), false); err == nil {
		t.Errorf("a name without its kind is taken for %+v", got)
	}
	in := &globals{namespace: "shop", cluster: "east"}
	if got, err := in.parseRef("deploy/cart", workloadKinds(), true); err != nil || got.String() != "east/shop/Deployment/cart" {
		t.Errorf("%s %v", got, err)
	}
}

// TestPodsThatFailed: a workload that rolls because its pods failed shows its rollout, and -o wide the pods.
func TestPodsThatFailed(t *testing.T) {
	r := reloader.Reload{Outcome: reloader.ReasonReloaded, Pods: &reloader.Asked{Asked: 3, Answered: 2, Failed: 1, Names: []string{"web-2"}}}
	if cells := reloadRow(r, now).cells; cells[5].text != dash || cells[11].text != "3 asked, 2 answered, 1 failed (web-2)" {
		t.Errorf("%+v", cells)
	}
}

// TestCluster: each problem of a cluster is one finding in the words of its verdict; what spoils the dispatcher itself is an error.
func TestCluster(t *testing.T) {
	cases := map[string]struct {
		edit    func(*reloader.ClusterStatus)
		message string
		grade   grade
	}{
		"healthy":         {func(*reloader.ClusterStatus) {}, "workloads, status", fine},
		"no canaries":     {func(s *reloader.ClusterStatus) { s.Feeds = nil }, "the audit feed is not set up", skipped},
		"silent":          {func(s *reloader.ClusterStatus) { s.Feeds[0].State = "silent" }, "No audit events come from the API server at 10.0.0.1:6443", careful},
		"NATS":            {func(s *reloader.ClusterStatus) { s.Faults = []string{"nats: no answer"} }, "The dispatcher is not well: nats: no answer.", wrong},
		"drift":           {func(s *reloader.ClusterStatus) { s.Drift = 3 }, "the resync alone found 3 changes", careful},
		"away":            {func(s *reloader.ClusterStatus) { s.At = now.Add(-2 * time.Minute) }, "no status for 2m0s", wrong},
		"spoilt controls": {func(s *reloader.ClusterStatus) { s.ControlProblem = "pauses[0]: until must be a time" }, "pauses[0]", wrong},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status := &reloader.ClusterStatus{Cluster: "local", At: now, Ready: true, Hearing: reloader.Hearing{Feeds: []reloader.FeedStatus{{Address: "10.0.0.1:6443", State: "heard", LastAt: now}}}}
			c.edit(status)
			var found findings
			found.checkCluster(&session{globals: &globals{}, cmd: Root("v1.2.3"), now: now}, view.FromCluster(&projection.ClusterState{Name: "local", Status: status}, now))
			if !slices.ContainsFunc(found, func(one finding) bool {
				return one.Verdict == c.grade && strings.Contains(one.Message, c.message) && (one.Fix != "" || c.grade == fine || c.grade == skipped)
			}) {
				t.Errorf("%+v", found)
			}
		})
	}
}
