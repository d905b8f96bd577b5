package chart_test

import (
	"os"
	"strings"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/reroll-dev/reroll/tests/line"
)

// notes returns what helm prints after an installation.
func notes(t *testing.T, args ...string) string {
	t.Helper()
	out, err := tool(t, "helm", append([]string{
		"install", release, chart, "--namespace", namespace, "--dry-run=client", "--kubeconfig", os.DevNull,
	}, args...)...)
	line.Must(t, err)
	_, text, ok := strings.Cut(out, "NOTES:\n")
	if !ok {
		t.Fatalf("no notes in\n%s", out)
	}
	return text
}

// TestNotesAreOfTheValues: the commands name the release's namespace, and the way in that its API has.
func TestNotesAreOfTheValues(t *testing.T) {
	const status = "   reroll status --reroll-namespace=" + namespace + "\n"
	for name, c := range map[string]struct {
		set       string
		has, lack string
	}{
		"audit events":    {"dryRun=false", "   reroll audit setup --reroll-namespace=" + namespace + " --for kubeadm\n", "REROLL_TOKEN"},
		"no audit events": {"source=watch", "only the field manager", "audit setup"},
		"the API":         {"dryRun=true", status, "create token"},
		"an exposed API":  {"config.api.auth=token,api.service.enabled=true,api.tls.existingSecret=t", "create token ACCOUNT --audience=reroll)\"\n" + status, ""},
		"a hub":           {"mode=hub,nats.url=nats://n:4222", "reroll hub add c1 --set nats.url=", "audit setup"},
	} {
		t.Run(name, func(t *testing.T) {
			text := notes(t, "--set", c.set)
			if !strings.Contains(text, c.has) || c.lack != "" && strings.Contains(text, c.lack) {
				t.Errorf("it has not %q, or has %q:\n%s", c.has, c.lack, text)
			}
		})
	}
}

// TestPolicyHearsOfRotations asks the API server's own evaluator: updates of the Secrets Store CSI driver are heard of, and that it creates and
// deletes is not.
func TestPolicyHearsOfRotations(t *testing.T) {
	loaded, err := policy.LoadPolicyFromFile(chart + "/files/audit-policy.yaml")
	line.Must(t, err)
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
