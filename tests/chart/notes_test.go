package chart_test

import (
	"os"
	"strings"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// notes returns what helm prints after an installation.
func notes(t *testing.T, args ...string) string {
	t.Helper()
	out, err := tool(t, "helm", append([]string{
		"install", release, chart, "--namespace", namespace, "--dry-run=client", "--kubeconfig", os.DevNull,
	}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(out, "NOTES:\n")
	if !ok {
		t.Fatalf("no notes in\n%s", out)
	}
	return text
}

// TestNotesAreOfTheValues: where API servers find the Service, what they need not be told, and how the API is asked follow the values.
func TestNotesAreOfTheValues(t *testing.T) {
	cases := map[string]struct {
		set   string
		has   []string
		hasNo []string
	}{
		"audit events": {"dryRun=false", []string{"   reroll audit setup --reroll-namespace reroll-system --for kubeadm\n   reroll audit check --reroll-namespace reroll-system\n"}, []string{"pod waits"}},
		"audit events of a token": {
			"source=audit,ingest.tls.requireClientCert=false,ingest.tokens.existingSecret=t,ingest.tls.existingSecret=mine",
			[]string{"--for kubeadm --token-file FILE\n", "The pod waits for Secret mine with tls.crt, tls.key (for example-reroll-ingest.reroll-system.svc).\n"},
			nil,
		},
		"no audit events": {
			"source=watch,hub.url=tls://h:4222",
			[]string{"only the field manager", "source=auto", "\nSee what it did", "\nSee that it reaches the hub"},
			[]string{"audit setup", "ingest-tls"},
		},
		"the API as it is": {"dryRun=false", []string{"   reroll status --reroll-namespace=reroll-system\n"}, []string{"token"}},
		"an exposed API":   {"api.service.enabled=true,api.insecureHTTP=true", []string{`export REROLL_TOKEN="$(kubectl -n reroll-system create token ACCOUNT --audience=reroll)"`, "reroll status --reroll-namespace=reroll-system\n"}, nil},
		"an exposed API with TLS": {
			"api.service.enabled=true,api.tls.existingSecret=t,api.audiences={a}",
			[]string{"create token ACCOUNT --audience=a)", "reroll status --reroll-namespace=reroll-system\n"},
			nil,
		},
		"no volume":             {"dryRun=false", []string{"when the pod moves, the history is lost", "persistence.enabled=true"}, nil},
		"a volume":              {"persistence.enabled=true", nil, []string{"history is lost"}},
		"the volume of another": {"nats.url=nats://n:4222", nil, []string{"history is lost"}},
		"no volume of roles":    {"deploymentMode=roles,nats.url=nats://n:4222", nil, []string{"history is lost"}},
		"a watch":               {"dryRun=false", []string{"may list and watch Secrets", "--set source=audit", "reroll explain "}, nil},
		"no watch":              {"source=audit", []string{"lists and watches no Secrets"}, []string{"may list and watch"}},
		"a hub": {
			"deploymentMode=hub,nats.url=nats://n:4222,api.service.enabled=true,api.insecureHTTP=true",
			[]string{"reroll hub permissions c1 c2", "reroll hub add c1 ", "reroll get clusters --reroll-namespace=reroll-system\n"},
			[]string{"audit setup", "history is lost"},
		},
		"a cluster of a fleet": {"hub.url=tls://h:4222,clusterName=east", []string{"audit setup", "\nSee that it reaches the hub: reroll get clusters east"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := notes(t, "--set", tc.set)
			for _, part := range tc.has {
				if !strings.Contains(text, part) {
					t.Errorf("the notes have no %q:\n%s", part, text)
				}
			}
			for _, part := range tc.hasNo {
				if strings.Contains(text, part) {
					t.Errorf("the notes have %q:\n%s", part, text)
				}
			}
		})
	}
}

// TestPolicyHearsOfRotations asks the API server's own evaluator: updates of the Secrets Store CSI driver are heard of, and that it creates and
// deletes is not.
func TestPolicyHearsOfRotations(t *testing.T) {
	loaded, err := policy.LoadPolicyFromFile(chart + "/files/audit-policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	evaluator := policy.NewPolicyRuleEvaluator(loaded)
	for verb, want := range map[string]auditv1.Level{
		"update": auditv1.LevelMetadata, "patch": auditv1.LevelMetadata,
		"create": auditv1.LevelNone, "delete": auditv1.LevelNone, "list": auditv1.LevelNone,
	} {
		got := evaluator.EvaluatePolicyRule(authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: "system:serviceaccount:csi:driver"}, Verb: verb, Namespace: "shop", ResourceRequest: true,
			APIGroup: "secrets-store.csi.x-k8s.io", APIVersion: "v1", Resource: "secretproviderclasspodstatuses", Name: "web-shop-vault",
		})
		if string(got.Level) != string(want) {
			t.Errorf("%s is recorded at level %s, want %s", verb, got.Level, want)
		}
	}
}
