package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/cmd/reroll/distribution"
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

// run runs a command and returns what it prints.
func run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := group("reroll", "", Preparations("")...)
	var out, errs strings.Builder
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SetArgs(args)
	CheckUsage(cmd)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.Execute()
	return out.String(), errs.String(), err
}

// TestPolicyOfEveryDistribution asks the API server's own evaluator about the policy of each that takes one.
func TestPolicyOfEveryDistribution(t *testing.T) {
	for _, d := range distribution.All {
		t.Run(d.Name, func(t *testing.T) {
			text, _, err := run(t, "audit", "policy", "--for", d.Name)
			if d.Dir == "" && !d.TakesPolicy {
				if err == nil || !strings.Contains(err.Error(), d.Guide()) {
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

// expectReported checks that every write of a config is reported when it is done, without content.
func expectReported(t *testing.T, text string) {
	t.Helper()
	for _, verb := range configVerbs {
		for _, resource := range configResources {
			if level, complete := ask(t, text, "carol", verb, resource, "shop"); level != "Metadata" || !complete {
				t.Errorf("%s of %s is reported at level %s, at its end: %t", verb, resource, level, complete)
			}
		}
	}
}

// existing are policies that are there already, and what must stay as it was.
var existing = map[string]struct {
	policy string
	// warns is in a warning, and comment in what comes out.
	warns, comment string
}{
	"all in full":                   {"# Ours since 2019.\napiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n# everything\n- level: RequestResponse\n", "rule 1 reported create, update, patch, delete, deletecollection of secrets with content", "# everything"},
	"secrets are nobody's business": {"apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n  - level: None # hush\n    resources: [{group: \"\", resources: [secrets]}]\n  - level: Metadata\n", "", "# hush"},
	"flow style":                    {"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None}]\n", "", ""},
	"its stages":                    {"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n    - level: None\n      users: [carol]\n    - level: Request\n      omitStages: [ResponseComplete]\n", "", ""},
	"rules are not last":            {"apiVersion: audit.k8s.io/v1\nrules: # ours\n\n  - level: Metadata\nkind: Policy\nomitManagedFields: true\n", "", "# ours"},
	"rules inside a text":           {"apiVersion: audit.k8s.io/v1\nkind: Policy\nmetadata:\n  annotations:\n    note: |\n      x\n\"rules\":\n- level: None\n", "", ""},
}

func TestMerge(t *testing.T) {
	for name, tc := range existing {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "policy.yaml")
			if err := os.WriteFile(file, []byte(tc.policy), 0o600); err != nil {
				t.Fatal(err)
			}
			text, warnings, err := run(t, "audit", "policy", "--merge", file)
			if err != nil {
				t.Fatal(err)
			}
			expectReported(t, text)
			if (tc.warns == "") != (warnings == "") || !strings.Contains(warnings, tc.warns) {
				t.Errorf("it warns of %q", warnings)
			}
			if !strings.Contains(text, tc.comment) {
				t.Errorf("a comment is lost:\n%s", text)
			}
			for _, other := range [][4]string{{"carol", "get", "secrets", "shop"}, {"carol", "update", "pods", "shop"}, {"dave", "create", "events", "kube-system"}} {
				was, wasComplete := ask(t, tc.policy, other[0], other[1], other[2], other[3])
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

// TestMergeWarnsOfEveryContent: whoever had the content of some writes in their log is told which of these come without it from now on.
func TestMergeWarnsOfEveryContent(t *testing.T) {
	const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n"
	const everything = "create, update, patch, delete, deletecollection"
	for name, tc := range map[string]struct {
		rules string
		warns []string
	}{
		"a namespace":         {"- {level: RequestResponse, namespaces: [payments], resources: [{resources: [secrets]}]}\n- level: Metadata\n", []string{"rule 1 reported " + everything + " of secrets with"}},
		"a user and a group":  {"- {level: Request, users: [alice], userGroups: [admins], verbs: [delete, get], resources: [{resources: [configmaps]}]}\n", []string{"reported delete of configmaps with"}},
		"a name":              {"- {level: Request, verbs: [patch], resources: [{resources: [pods], resourceNames: [x]}, {resources: [secrets], resourceNames: [root]}]}\n", []string{"reported patch of secrets with"}},
		"no namespace":        {"- {level: Request, namespaces: [\"\"]}\n", nil},
		"every group":         {"- {level: Request, verbs: [create, patch], resources: [{group: \"*\"}]}\n", []string{"create, patch of configmaps with", "create, patch of secrets with", "patch of secretproviderclasspodstatuses with"}},
		"two rules":           {"- {level: Request, users: [a], resources: [{resources: [secrets]}]}\n- {level: Request, users: [b], resources: [{resources: [secrets]}]}\n", []string{"rule 1 reported", "rule 2 reported"}},
		"behind one for all":  {"- {level: Metadata, resources: [{resources: [secrets]}]}\n- {level: Request, namespaces: [payments], resources: [{resources: [secrets]}]}\n", nil},
		"behind one for some": {"- {level: None, users: [a], resources: [{resources: [secrets]}]}\n- {level: Request, resources: [{resources: [secrets]}]}\n", []string{"rule 2 reported " + everything + " of secrets with"}},
		"reads":               {"- {level: Request, verbs: [get, list], resources: [{resources: [secrets]}]}\n", nil},
		"never told":          {"- {level: Request, namespaces: [payments], omitStages: [ResponseComplete]}\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := auditPolicy{classes: true, quietWasChosen: func() bool { return false }}
			_, warnings, err := p.mergeWith([]byte(head + tc.rules))
			if err != nil {
				t.Fatal(err)
			}
			if len(warnings) != len(tc.warns) {
				t.Fatalf("it warns of %q, want %q", warnings, tc.warns)
			}
			for i, want := range tc.warns {
				if !strings.Contains(warnings[i], want) {
					t.Errorf("it warns of %q, want %q", warnings[i], want)
				}
			}
		})
	}
}

// TestRulesHideNothing: whoever puts the rules alone before their own policy loses nothing that theirs reported, unless they ask for it.
func TestRulesHideNothing(t *testing.T) {
	const publisher = "system:serviceaccount:kube-system:root-ca-cert-publisher"
	for name, tc := range map[string]struct {
		args  []string
		quiet string
	}{
		"by default":  {nil, ""},
		"if told to":  {[]string{"--ignore-namespace=noise"}, "noise"},
		"of none":     {[]string{"--ignore-namespace="}, ""},
		"of a system": {[]string{"--ignore-namespace=kube-system"}, "kube-system"},
	} {
		t.Run(name, func(t *testing.T) {
			rules, _, err := run(t, append([]string{"audit", "policy", "--rules-only"}, tc.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			text := "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n" + rules + "  - level: Metadata\n"
			expectReported(t, text)
			for _, namespace := range []string{"shop", "kube-system", "noise"} {
				want := "Metadata"
				if namespace == tc.quiet {
					want = "None"
				}
				for _, who := range []string{"carol", publisher} {
					for _, verb := range []string{"get", "update"} {
						if level, _ := ask(t, text, who, verb, "secrets", namespace); level != want {
							t.Errorf("%s of Secrets in %s by %s is reported at level %s, want %s", verb, namespace, who, level, want)
						}
					}
				}
				if level, _ := ask(t, text, publisher, "create", "configmaps", namespace); level != want {
					t.Errorf("what is published in %s is reported at level %s, want %s", namespace, level, want)
				}
			}
		})
	}
}

func TestMergeRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ policy, why string }{
		"no policy":             {"kind: Config\napiVersion: v1\n", "no audit policy"},
		"of an older API":       {"apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: [{level: None}]\n", "no audit policy"},
		"a misspelt field":      {"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: None\n  user: [a]\n", "no audit policy"},
		"a level of its own":    {"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Everything\n", "would not start"},
		"a group with a slash":  {"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: None\n  resources: [{group: apps/v1}]\n", "would not start"},
		"nothing when it ended": {"apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [ResponseComplete]\nrules: [{level: None}]\n", "leave out ResponseComplete"},
		"too long":              {"# " + strings.Repeat("x", maxAuditFile), "longer than"},
		"empty":                 {"", "no audit policy"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "policy.yaml")
			if err := os.WriteFile(file, []byte(tc.policy), 0o600); err != nil {
				t.Fatal(err)
			}
			if text, _, err := run(t, "audit", "policy", "--merge", file); err == nil || !strings.Contains(err.Error(), tc.why) || text != "" {
				t.Errorf("%v, printed %q", err, text)
			}
		})
	}
}

// FuzzMerge: whatever comes out is what a reader of both would expect, and what the API server takes.
func FuzzMerge(f *testing.F) {
	for _, tc := range existing {
		f.Add([]byte(tc.policy))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		p := auditPolicy{classes: true, quietWasChosen: func() bool { return false }}
		text, _, err := p.mergeWith(content)
		if err != nil {
			return
		}
		var theirs, ours, got auditv1.Policy
		if err := yaml.UnmarshalStrict(content, &theirs); err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict([]byte("rules:\n"+p.reportingRules(ourStages)), &ours); err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict([]byte(text), &got); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		theirs.Rules = append(ours.Rules, theirs.Rules...)
		if diff := cmp.Diff(theirs, got); diff != "" {
			t.Errorf("merged (-both +got):\n%s", diff)
		}
		if _, err := policy.LoadPolicyFromBytes([]byte(text)); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	})
}
