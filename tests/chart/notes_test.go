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
