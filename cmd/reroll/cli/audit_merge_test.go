package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/cmd/reroll/distribution"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// ask has the API server's own evaluator judge a write by somebody, and returns the level and whether its end is reported.
func ask(t *testing.T, text, who, verb, resource, namespace string) (string, bool) {
	t.Helper()
	loaded, err := policy.LoadPolicyFromBytes([]byte(text))
	if err != nil {
		t.Fatalf("the API server refuses the policy: %v\n%s", err, text)
	}
	got := policy.NewPolicyRuleEvaluator(loaded).EvaluatePolicyRule(authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: who, Groups: []string{"system:authenticated"}}, Verb: verb, Namespace: namespace, ResourceRequest: true,
		APIVersion: "v1", Resource: resource, Name: "x", Path: "/api/v1/namespaces/" + namespace + "/" + resource + "/x",
	})
	for _, stage := range got.OmitStages {
		if stage == "ResponseComplete" {
			return string(got.Level), false
		}
	}
	return string(got.Level), true
}

// TestPolicyOfEveryDistribution asks the API server's own evaluator about the policy of each that takes one.
func TestPolicyOfEveryDistribution(t *testing.T) {
	for _, d := range distribution.All {
		t.Run(d.Name, func(t *testing.T) {
			text, _, err := setup(t, kube.Ingest{}, kube.ErrNoRelease, "--for", d.Name, "--print", "policy")
			if d.Dir == "" && !d.TakesPolicy {
				if err == nil || !strings.Contains(err.Error(), distribution.Guide) {
					t.Errorf("it takes no policy, and got one: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			expectReported(t, text)
			for _, quiet := range systemNamespaces {
				if level, _ := ask(t, text, "carol", "update", "secrets", quiet); level != "None" {
					t.Errorf("Secrets of %s are reported at level %s", quiet, level)
				}
			}
			for _, other := range [][2]string{{"get", "secrets"}, {"watch", "configmaps"}, {"update", "pods"}, {"create", "events"}} {
				if level, _ := ask(t, text, "carol", other[0], other[1], "shop"); level != "None" {
					t.Errorf("%s of %s is reported at level %s", other[0], other[1], level)
				}
			}
			if level, _ := ask(t, text, "system:serviceaccount:kube-system:root-ca-cert-publisher", "create", "configmaps", "shop"); level != "None" {
				t.Errorf("kube-root-ca.crt of each new namespace is reported at level %s", level)
			}
		})
	}
}

//go:generate go test . -run ^TestPolicyOfTheChart$ -update

// TestPolicyOfTheChart: the chart has the same policy.
func TestPolicyOfTheChart(t *testing.T) {
	const file = "../../../helm/reroll/files/audit-policy.yaml"
	if *update {
		if err := os.WriteFile(file, []byte(ownPolicy("reroll")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	chart, err := os.ReadFile(file)
	if diff := cmp.Diff(string(chart), ownPolicy("reroll")); err != nil || diff != "" {
		t.Errorf("%v (-chart +here):\n%s", err, diff)
	}
}

// expectReported checks that every write of a config is reported when it is done, without content.
func expectReported(t *testing.T, text string) {
	t.Helper()
	for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection"} {
		for _, resource := range []string{"configmaps", "secrets"} {
			if level, complete := ask(t, text, "carol", verb, resource, "shop"); level != "Metadata" || !complete {
				t.Errorf("%s of %s is reported at level %s, at its end: %t", verb, resource, level, complete)
			}
		}
	}
}

// existing are policies that are there already, and what must stay as it was.
var existing = map[string]string{
	"all in full":                   "# Ours since 2019.\napiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: RequestResponse\n",
	"secrets are nobody's business": "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n  - level: None\n    resources: [{group: \"\", resources: [secrets]}]\n  - level: Metadata\n",
	"flow style":                    "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None}]\n",
	"its stages":                    "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n    - level: None\n      users: [carol]\n    - level: Request\n      omitStages: [ResponseComplete]\n",
	"a name":                        "apiVersion: audit.k8s.io/v1\nrules: [{level: Metadata}]\nkind: Policy\nmetadata: {name: ours}\nomitManagedFields: true\n",
}

// TestMerge: writes of configs are reported without content, and everything else as it was.
func TestMerge(t *testing.T) {
	for name, theirs := range existing {
		t.Run(name, func(t *testing.T) {
			text, err := withOurRules([]byte(theirs))
			if err != nil {
				t.Fatal(err)
			}
			expectReported(t, text)
			for _, other := range [][4]string{{"carol", "get", "secrets", "shop"}, {"carol", "update", "pods", "shop"}, {"dave", "create", "events", "kube-system"}} {
				was, wasComplete := ask(t, theirs, other[0], other[1], other[2], other[3])
				if is, complete := ask(t, text, other[0], other[1], other[2], other[3]); is != was || complete != wasComplete {
					t.Errorf("%v was reported at level %s and is at %s", other, was, is)
				}
			}
			if level, _ := ask(t, text, "carol", "update", "secrets", "kube-system"); level != "Metadata" {
				t.Errorf("a write in kube-system, which others may want to know of, is reported at level %s", level)
			}
		})
	}
}

func TestMergeRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ policy, why string }{
		"no policy":             {"kind: Config\napiVersion: v1\n", "would not start"},
		"a misspelt field":      {"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: None\n  user: [a]\n", "not an audit policy"},
		"nothing when it ended": {"apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [ResponseComplete]\nrules: [{level: None}]\n", "leave out ResponseComplete"},
		"empty":                 {"", "would not start"},
	} {
		if text, err := withOurRules([]byte(tc.policy)); err == nil || !strings.Contains(err.Error(), tc.why) || text != "" {
			t.Errorf("%s: %v, made %q", name, err, text)
		}
	}
}

// FuzzMerge: whatever comes out is what a reader of both would expect, and what the API server takes.
func FuzzMerge(f *testing.F) {
	for _, theirs := range existing {
		f.Add([]byte(theirs))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		text, err := withOurRules(content)
		if err != nil {
			return
		}
		var theirs, got auditv1.Policy
		if err := yaml.UnmarshalStrict(content, &theirs); err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict([]byte(text), &got); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if diff := cmp.Diff(theirs.Rules, got.Rules[2:]); diff != "" {
			t.Errorf("merged (-theirs +got):\n%s", diff)
		}
		if _, err := policy.LoadPolicyFromBytes([]byte(text)); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	})
}
