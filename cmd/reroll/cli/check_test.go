package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// want is what findings must have: each a verdict and a part of its message. Other findings must be OK or Skipped.
type want map[string]grade

func (w want) check(t *testing.T, found findings) {
	t.Helper()
	for part, v := range w {
		if !slices.ContainsFunc(found, func(one finding) bool { return one.Verdict == v && strings.Contains(one.Message, part) }) {
			t.Errorf("%s is not found with %q", v, part)
		}
	}
	for _, one := range found {
		expected := one.Verdict == fine || one.Verdict == skipped
		for part, v := range w {
			expected = expected || one.Verdict == v && strings.Contains(one.Message, part)
		}
		if !expected {
			t.Errorf("unexpected: %+v", one)
		}
		if (one.Verdict == wrong || one.Verdict == careful) && one.Fix == "" {
			t.Errorf("nobody is told how to mend %+v", one)
		}
	}
	if t.Failed() {
		t.Logf("%+v", found)
	}
}

func TestPolicy(t *testing.T) {
	const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n"
	const all = "- {level: Metadata, resources: [{group: \"\", resources: [configmaps, secrets]}]}\n"
	cases := map[string]struct {
		policy string
		want   want
	}{
		"ours":             {ownPolicy("reroll"), nil},
		"all metadata":     {head + "- level: Metadata\n", nil},
		"with a body":      {head + "- level: RequestResponse\n", want{"of configmaps by a user with content": careful, "of secrets by a user with content": careful}},
		"secrets hidden":   {head + "- {level: None, resources: [{resources: [secrets]}]}\n" + all, want{"create, update, patch, delete, deletecollection of secrets by a user": wrong, "writes to secrets in its own": careful}},
		"after that":       {head + all + "- level: None\n", nil},
		"one verb":         {head + "- {level: None, verbs: [delete]}\n" + all, want{"not report delete of configmaps by a user": wrong, "not report delete of secrets by a user": wrong}},
		"some components":  {head + "- {level: None, users: [system:apiserver, system:kube-scheduler]}\n" + all, nil},
		"every user":       {head + "- {level: None, userGroups: [\"system:authenticated\"]}\n" + all, want{"of configmaps by a user": wrong, "of secrets by a user": wrong, "no canary": careful}},
		"administrators":   {head + "- {level: None, userGroups: [\"system:masters\"]}\n" + all, want{"of configmaps by an administrator": wrong, "of secrets by an administrator": wrong}},
		"controllers":      {head + "- {level: Request, userGroups: [\"system:serviceaccounts\"], resources: [{resources: [secrets]}]}\n" + all, want{"of secrets by a controller with content": careful}},
		"a name":           {head + "- {level: None, resources: [{resources: [configmaps], resourceNames: [leader]}]}\n" + all, nil},
		"stage left out":   {head + "- {level: Metadata, omitStages: [ResponseComplete]}\n", want{"of configmaps by a user": wrong, "of secrets by a user": wrong, "no canary": careful}},
		"our namespace":    {head + "- {level: None, namespaces: [reroll]}\n" + all, want{"no canary comes back": careful}},
		"our account":      {head + "- {level: None, userGroups: [\"system:serviceaccounts:reroll\"]}\n" + all, want{"no canary comes back": careful}},
		"no rules":         {"apiVersion: audit.k8s.io/v1\nkind: Policy\n", want{"would not start": wrong}},
		"old version":      {strings.Replace(head+all, "v1", "v1beta1", 1), want{"would not start": wrong}},
		"a kubeconfig":     {"kind: Config\n", want{"would not start": wrong}},
		"not YAML":         {"{", want{"would not start": wrong}},
		"a misspelt field": {head + "- {level: Metadata, resource: [secrets]}\n", want{"ignores a part of it": careful}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var found findings
			found.checkPolicy([]byte(c.policy), "reroll")
			c.want.check(t, found)
			expectFix(t, c.policy, found)
		})
	}
}

// expectFix: where check names the command that fixes a policy, its outcome has nothing left to fix.
func expectFix(t *testing.T, policy string, found findings) {
	t.Helper()
	if !slices.ContainsFunc(found, func(one finding) bool { return strings.Contains(one.Fix, policyFix) }) {
		return
	}
	merged, err := withOurRules([]byte(policy))
	if err != nil {
		t.Fatal(err)
	}
	var again findings
	again.checkPolicy([]byte(merged), "reroll")
	if len(again) != 1 || again[0].Verdict != fine {
		t.Errorf("after the mend: %+v", again)
	}
}

// TestNeedsAreTheChartsRights compares what check asks for with what the chart grants: by default exactly that, but for what several
// replicas need, and all of it where several choose who leads.
func TestNeedsAreTheChartsRights(t *testing.T) {
	granted, asked := grants(t, "default"), map[string]bool{}
	for _, n := range needs {
		if n.group != leases {
			n.each(func(right string) { asked[right] = true })
		}
	}
	for right := range granted {
		if !asked[right] {
			t.Errorf("the chart grants %s, and check does not ask for it", right)
		}
	}
	for right := range asked {
		if !granted[right] {
			t.Errorf("check asks for %s, which the chart does not grant", right)
		}
	}
	if len(granted) == 0 {
		t.Error("the chart grants nothing")
	}
	for _, shape := range []string{"split"} {
		granted, asked := grants(t, shape), map[string]bool{}
		for _, n := range needs {
			n.each(func(right string) {
				asked[right] = true
				// With reloadOnDelete any namespace may be read.
				if !granted[right] && !granted[strings.Replace(right, " kube-system", "", 1)] {
					t.Errorf("%s: check asks for %s, which the chart does not grant", shape, right)
				}
			})
		}
		for right := range granted {
			if strings.Contains(right, " coordination.k8s.io ") && !asked[right] {
				t.Errorf("%s: the chart grants %s, and check does not ask for it", shape, right)
			}
		}
	}
}

// grants returns the rights that a rendering of the chart grants.
func grants(t *testing.T, folder string) map[string]bool {
	t.Helper()
	content, err := os.ReadFile("../../../tests/chart/testdata/" + folder + "/rendered.yaml")
	if err != nil {
		t.Fatal(err)
	}
	granted := map[string]bool{}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			eachRight(rule, func(right string) { granted[role.Kind+" "+right] = true })
		}
	}
	return granted
}

// each calls do for each right as the chart would grant it.
func (n need) each(do func(right string)) {
	kind, names := "ClusterRole", []string{}
	if n.own {
		kind = "Role"
	}
	if n.name != "" {
		names = append(names, n.name)
	}
	eachRight(rbacv1.PolicyRule{APIGroups: []string{n.group}, Resources: []string{n.resource}, ResourceNames: names, Verbs: n.verbs}, func(right string) { do(kind + " " + right) })
}

func eachRight(rule rbacv1.PolicyRule, do func(right string)) {
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				do(strings.Join(append([]string{group, resource, verb}, rule.ResourceNames...), " "))
			}
		}
	}
}

func TestRights(t *testing.T) {
	refuse := func(refused ...kube.Right) judge {
		return func(_ context.Context, r kube.Right) (bool, error) { return !slices.Contains(refused, r), nil }
	}
	cases := map[string]struct {
		may        judge
		namespaces []string
		want       want
	}{
		"all granted":            {may: refuse()},
		"secrets":                {refuse(kube.Right{Verb: "get", Resource: "secrets"}), nil, want{"secrets: may not get": wrong}},
		"two verbs":              {refuse(kube.Right{Verb: "patch", Group: "apps", Resource: "deployments"}, kube.Right{Verb: "watch", Group: "apps", Resource: "deployments"}), nil, want{"deployments: may not watch, patch": wrong}},
		"what it can do without": {refuse(kube.Right{Verb: "create", Resource: "events"}), nil, want{"events: may not create: there are no Events": careful}},
		"in its own namespace":   {refuse(kube.Right{Verb: "update", Resource: "configmaps", Namespace: "own"}), nil, want{"configmaps: may not update in own": wrong}},
		"in one of two":          {refuse(kube.Right{Verb: "list", Resource: "pods", Namespace: "shop"}), []string{"bank", "shop"}, want{"pods: may not list in shop": wrong}},
		"nobody answers":         {func(context.Context, kube.Right) (bool, error) { return false, errors.New("away") }, nil, want{"away": unclear}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var found findings
			found.checkRights(t.Context(), c.may, "own", c.namespaces)
			c.want.check(t, found)
			if c.want["all that the chart grants are granted"] != fine && c.want != nil && found.has(fine) {
				t.Errorf("something is missing, and all is said to be granted: %+v", found)
			}
		})
	}
}

// TestCluster: each problem of a cluster is one finding in the words of its verdict; what spoils the dispatcher itself is an error.
func TestCluster(t *testing.T) {
	const address = "10.0.0.1:6443"
	feed := func(state string) func(*reloader.ClusterStatus) {
		return func(s *reloader.ClusterStatus) { s.Feeds[0].State = state }
	}
	cases := map[string]struct {
		edit func(*reloader.ClusterStatus)
		want want
	}{
		"healthy":         {func(*reloader.ClusterStatus) {}, want{"workloads, status": fine}},
		"no canaries":     {func(s *reloader.ClusterStatus) { s.Feeds = nil }, want{"the audit feed is not set up": skipped}},
		"silent":          {feed("silent"), want{"No audit events come from the API server at " + address: careful}},
		"refused":         {feed("refused"), want{address + " refuses canaries": careful}},
		"NATS":            {func(s *reloader.ClusterStatus) { s.Faults = []reloader.Fault{{Part: "nats", Reason: "no answer"}} }, want{"nats of the dispatcher: no answer.": wrong}},
		"drift":           {func(s *reloader.ClusterStatus) { s.Drift = 3 }, want{"the resync alone found 3 changes": careful}},
		"not ready":       {func(s *reloader.ClusterStatus) { s.Ready = false }, want{"still recording": careful}},
		"away":            {func(s *reloader.ClusterStatus) { s.At = now.Add(-2 * time.Minute) }, want{"no status for 2m0s": wrong}},
		"spoilt controls": {func(s *reloader.ClusterStatus) { s.ControlProblem = "pauses[0]: until must be a time" }, want{"pauses[0]": wrong}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status := &reloader.ClusterStatus{Cluster: "local", At: now, Process: reloader.Process{Ready: true}, Hearing: reloader.Hearing{Feeds: []reloader.FeedStatus{{Address: address, State: "heard", LastAt: now}}}}
			c.edit(status)
			cluster := view.FromCluster(&projection.ClusterState{Name: "local", Status: status}, now)
			var found findings
			found.checkCluster(&session{globals: &globals{}, cmd: Root("v1.2.3"), now: now}, cluster)
			c.want.check(t, found)
			if told := slices.ContainsFunc(found, func(one finding) bool { return one.Verdict != skipped && one.Verdict != fine }); told != (name != "healthy" && name != "no canaries") {
				t.Errorf("%+v", found)
			}
		})
	}
	var found findings
	found.checkCluster(&session{globals: &globals{}, cmd: Root("v1.2.3"), now: now}, view.Cluster{Standing: verdict.Standing{Health: verdict.Degraded}})
	want{"it is Degraded, and does not say why": careful}.check(t, found)
}
