package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

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

// runOnly runs one command that make makes.
func runOnly(ctx context.Context, make func(g *globals) *cobra.Command, args ...string) (out, errs string, err error) {
	g, root := &globals{version: "v1.2.3"}, &cobra.Command{Use: "reroll", SilenceErrors: true, SilenceUsage: true}
	g.bind(root)
	cmd := make(g)
	root.AddCommand(cmd)
	CheckUsage(root)
	return execute(ctx, root, append([]string{cmd.Name()}, args...)...)
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
		answer = view.List[view.Workload]{Items: h.workloads, Warnings: h.warnings}
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
	}{
		"all is well":        {hub{well, []view.Workload{stands(verdict.Frozen)}, nil}, ExitDone},
		"a cluster is away":  {hub{append(well, in(verdict.Away)), nil, nil}, ExitFailed},
		"a workload is dead": {hub{well, []view.Workload{stands(verdict.MissingConfig)}, nil}, ExitFailed},
		"not all is known":   {hub{well, nil, []string{"The stored records are still being read."}}, ExitFailed},
		"no cluster":         {hub{nil, nil, nil}, ExitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.hub)
			defer server.Close()
			for _, args := range [][]string{{"status", "--exit-code"}, {"check"}} {
				out, errs, err := run(t, append(args, "--server", server.URL)...)
				if code, tell := ExitCode(err); code != c.code || tell {
					t.Errorf("%v: code %d, want %d: %v\n%s%s", args, code, c.code, err, out, errs)
				}
				for _, warning := range c.warnings {
					if !strings.Contains(errs+out, warning) {
						t.Errorf("%v does not say %q:\n%s%s", args, warning, out, errs)
					}
				}
			}
		})
	}
}

// TestStatusSaysWhoPaused: a pause of everything is shown with who did it, since when and until when, and how to end it; a window that never opens
// is not waited for.
func TestStatusSaysWhoPaused(t *testing.T) {
	at := time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC)
	server := httptest.NewServer(hub{clusters: []view.Cluster{{Standing: verdict.Standing{Health: verdict.Healthy}, ClusterStatus: reloader.ClusterStatus{
		Cluster:   "east",
		Namespace: "ops",
		Backlog:   reloader.Backlog{Workloads: 4},
		Brakes:    reloader.Brakes{Windows: []reloader.Window{{Schedule: "0 0 31 2 * 1h"}}, Freeze: reloader.Freeze{Frozen: true, Reason: "release", By: "carol", Since: at, Until: at.Add(time.Hour)}, Pauses: []reloader.Pause{{Namespace: "shop", Selector: "app in (a, b)", Until: at}}},
	}}}})
	defer server.Close()
	said, _, err := run(t, "status", "--server", server.URL)
	want := `east ✓ healthy · 4 workloads
  Frozen since 2026-01-31T18:00:00Z by carol until 2026-01-31T19:00:00Z: release
    Next: reroll resume -A --reroll-namespace ops
  Paused workloads with app in (a, b) in shop until 2026-01-31T18:00:00Z
    Next: reroll resume -n shop -l 'app in (a, b)' --reroll-namespace ops
  Window 0 0 31 2 * 1h: closed, never opens
`
	if diff := cmp.Diff(want, said); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestTypedCommands: the next command has the flags by which the user chose the cluster, as far as it takes them.
func TestTypedCommands(t *testing.T) {
	for next, want := range map[string]string{
		"reroll reload shop/Deployment/web":       "reroll reload shop/Deployment/web --kubeconfig 'my files/c' --context east",
		"reroll resume -A --reroll-namespace ops": "reroll resume -A --reroll-namespace ops --kubeconfig 'my files/c' --context east",
		"reroll check": "reroll check --kubeconfig 'my files/c' --context east --reroll-namespace mine --server http://a",
		"kubectl -n shop rollout status deploy/web":   "kubectl -n shop rollout status deploy/web --kubeconfig 'my files/c' --context east",
		"oc -n shop rollout latest dc/web":            "oc -n shop rollout latest dc/web",
		"":                                            "",
		"reroll audit check --context west":           "reroll audit check --context west --kubeconfig 'my files/c' --reroll-namespace mine --server http://a",
		"reroll get clusters east -o yaml":            "reroll get clusters east -o yaml --kubeconfig 'my files/c' --context east --reroll-namespace mine --server http://a",
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

// TestHelpFitsAScreen: 24 lines of 100 columns.
func TestHelpFitsAScreen(t *testing.T) {
	var paths [][]string
	var walk func(cmd *cobra.Command, path []string)
	walk = func(cmd *cobra.Command, path []string) {
		paths = append(paths, path)
		for _, below := range cmd.Commands() {
			walk(below, append(slices.Clone(path), below.Name()))
		}
	}
	walk(Root("v1.2.3"), nil)
	for _, path := range paths {
		help, _, err := run(t, append(path, "--help")...)
		if n := strings.Count(help, "\n"); err != nil || n > 24 || n < 3 {
			t.Errorf("reroll %s --help has %d lines: %v", strings.Join(path, " "), n, err)
		}
		for line := range strings.Lines(help) {
			if len(line) > helpWidth+1 {
				t.Errorf("reroll %s --help: %q is too wide", strings.Join(path, " "), line)
			}
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
	for _, text := range []string{"", "/cart", "deploy/", "a/b/c/d/e", "shop/secret/x", "shop//deploy/cart"} {
		if got, err := (&globals{}).parseRef(text, workloadKinds(), true); err == nil {
			t.Errorf("%q is taken for %+v", text, got)
		} else if code, _ := ExitCode(err); code != ExitUsage {
			t.Errorf("%q ends with code %d", text, code)
		}
	}
	in := &globals{namespace: "shop", cluster: "east"}
	if got, err := in.parseRef("deploy/cart", workloadKinds(), true); err != nil || got.String() != "east/shop/Deployment/cart" {
		t.Errorf("%s %v", got, err)
	}
	for _, text := range []string{"pod/cart", "bank/deploy/cart", "west/shop/deploy/cart"} {
		if got, err := in.parseRef(text, workloadKinds(), true); err == nil {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
}

func TestWhoOf(t *testing.T) {
	for name, c := range map[string]struct {
		candidates []reloader.Candidate
		want       string
	}{
		"nobody":            {nil, "-"},
		"one":               {[]reloader.Candidate{{Actor: reloader.Actor{User: "alice"}, Basis: "OnlyWriter"}}, "alice"},
		"impersonated":      {[]reloader.Candidate{{Actor: reloader.Actor{User: "alice", AuthenticatedUser: "admin"}, Basis: "OnlyWriter"}}, "alice (impersonated by admin)"},
		"seen by a watch":   {[]reloader.Candidate{{Actor: reloader.Actor{FieldManager: "kubectl-edit"}, Basis: "OnlyWriter"}}, "field manager kubectl-edit"},
		"one who need not":  {[]reloader.Candidate{{Actor: reloader.Actor{User: "alice"}, Basis: "Ambiguous"}}, "perhaps alice"},
		"one of two writes": {[]reloader.Candidate{{Actor: reloader.Actor{User: "alice"}, Basis: "Ambiguous"}, {Actor: reloader.Actor{User: "bob"}, Basis: "FieldManager"}}, "one of alice, bob"},
	} {
		if got := whoOf(c.candidates); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestCausesNameEachConfigOnce: a config that changed several times is named once, with all its keys; another of that name elsewhere is not it.
func TestCausesNameEachConfigOnce(t *testing.T) {
	cause := func(config reloader.Config, keys ...string) reloader.Cause {
		c := reloader.Cause{Config: config}
		for _, key := range keys {
			c.Keys = append(c.Keys, reloader.KeyChange{Key: key, Op: "Changed"})
		}
		return c
	}
	settings := reloader.Config{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	rates, followed := reloader.Config{Kind: "ConfigMap", Namespace: "bank", Name: "settings"}, settings
	followed.Cluster = "east"
	r := view.Reload{Reload: reloader.Reload{Workload: reloader.WorkloadRef{Namespace: "shop"}, Causes: []reloader.Cause{
		cause(settings, "level"), cause(rates), cause(settings, "level", "colour"), cause(followed, "tax"),
	}}}
	const want = "ConfigMap/settings [level,colour],bank/ConfigMap/settings,east/shop/ConfigMap/settings [tax]"
	if got := causesOf(r); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestRolled: each workload that a change reached counts once, by what became of it last.
func TestRolled(t *testing.T) {
	reload := func(name, outcome, rollout string) view.Reload {
		r := view.Reload{Reload: reloader.Reload{Workload: reloader.WorkloadRef{Name: name}, Outcome: reloader.Reason(outcome)}}
		if rollout != "" {
			r.Rollout = &reloader.Rollout{Result: reloader.Reason(rollout)}
		}
		return r
	}
	waits := func(name string, hold *reloader.Hold) view.PendingReload {
		return view.PendingReload{Workload: reloader.WorkloadRef{Name: name}, Hold: hold}
	}
	all := view.ChangeRow{
		Reloads: []view.Reload{
			reload("a", "Reloaded", "RolledOut"), reload("b", "Reloaded", ""), reload("c", "Reloaded", "Stalled"), reload("d", "KeysUnused", ""),
			reload("e", "Refused", ""), reload("f", "Refused", ""), reload("f", "Reloaded", ""), reload("g", "Refused", ""),
		},
		Pending: []view.PendingReload{waits("g", &reloader.Hold{}), waits("h", nil)},
	}
	if got := rolledCell(all).text; got != "3 rolled, 1 stalled, 1 failed, 1 held, 1 waiting, 1 not needed" {
		t.Error(got)
	}
	if got := rolledCell(view.ChangeRow{}).text; got != "-" {
		t.Error(got)
	}
}

// TestTable: columns are aligned, also with those of an earlier part of the table, and names that others choose cannot paint a terminal.
func TestTable(t *testing.T) {
	columns := []column{{name: "NAME"}, {name: "STATE"}, {name: "MORE", wide: true}}
	rows := [][]cell{{text("cart"), {"Refused", bad}, text("why")}, {text("grüße"), text(""), text("a\x1b[2Jb\nc")}}
	var b strings.Builder
	l := newLines(&b)
	l.table(columns, rows, false, nil)
	widths := l.table(columns, rows, true, nil)
	l.colours = true
	l.table(columns, rows[:1], false, widths)
	want := "NAME    STATE\ncart    Refused\ngrüße\n" + "NAME    STATE     MORE\ncart    Refused   why\ngrüße             a\ufffd[2Jb c\n" + "cart    \x1b[31mRefused\x1b[0m\n"
	if diff := cmp.Diff(want, b.String()); diff != "" || l.err != nil {
		t.Errorf("%v (-want +got):\n%s", l.err, diff)
	}
	b.Reset()
	if n, err := (calm{&b}).Write([]byte("a\x1b[31m\n\u009bb\n")); b.String() != "a\ufffd[31m\n\ufffdb\n" || n != 11 || err != nil {
		t.Errorf("%q %d %v", b.String(), n, err)
	}
	if got := Say(errors.New("no\n way\x1b")); got != "no way\ufffd" {
		t.Errorf("%q", got)
	}
}

// TestReadEvents: every event but a heartbeat is news, whatever its data.
func TestReadEvents(t *testing.T) {
	for text, want := range map[string]int{
		"event: hello\ndata: {}\n\n":              1,
		"event: changed\n\n":                      1,
		": still here\n\n":                        0,
		"id: 1\nevent: a\ndata: x\n\ndata: y\n\n": 2,
		"event: cut short\n":                      0,
	} {
		news, beats := make(chan struct{}, 9), 0
		err := readEvents(strings.NewReader(text), func() { beats++ }, news)
		if len(news) != want || err == nil || beats != strings.Count(text, "\n") {
			t.Errorf("%q: %d events, %d beats, %v", text, len(news), beats, err)
		}
	}
}
