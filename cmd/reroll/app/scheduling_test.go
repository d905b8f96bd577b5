package app

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/cmd/reroll/cli"
	"github.com/reroll-dev/reroll/reloader/strategy"
)

// holding is an API server with a Deployment in the namespace shop whose pods nobody schedules; nobody may list those of bank.
func holding(w http.ResponseWriter, r *http.Request) {
	held := appsv1.Deployment{TypeMeta: kindOf("apps/v1", "Deployment"), ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart", UID: "u-1"}}
	code, answer := http.StatusOK, any(appsv1.DeploymentList{TypeMeta: kindOf("apps/v1", "DeploymentList")})
	switch {
	case strings.HasSuffix(r.URL.Path, "/kube-system"):
		answer = corev1.Namespace{TypeMeta: kindOf("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{UID: "u"}}
	case strings.Contains(r.URL.Path, "/bank/"):
		code, answer = http.StatusForbidden, metav1.Status{
			TypeMeta: kindOf("v1", "Status"), Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Message: "no right in bank", Code: http.StatusForbidden,
		}
	case r.Method == http.MethodPatch:
		answer = held
	case strings.HasSuffix(r.URL.Path, "/shop/deployments"):
		held.Spec.Template.Spec.SchedulerName = strategy.NoScheduler
		answer = appsv1.DeploymentList{TypeMeta: kindOf("apps/v1", "DeploymentList"), Items: []appsv1.Deployment{held}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

// TestReleaseTellsWhatItDid: who was let go is told also where others could not be.
func TestReleaseTellsWhatItDid(t *testing.T) {
	for name, c := range map[string]struct{ format, says string }{
		"in words":  {"table", "1 workloads let go\n"},
		"for jq":    {"json", `"shop/Deployment/cart"`},
		"for xargs": {"name", "shop/Deployment/cart\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, warned strings.Builder
			cmd := Command("v1.2.3")
			args := []string{"release-scheduling", "-n", "shop,bank", "--kubeconfig", kubeconfigOf(t, http.HandlerFunc(holding))}
			if c.format != "table" {
				args = append(args, "-o", c.format)
			}
			cmd.SetArgs(args)
			cmd.SetOut(&out)
			cmd.SetErr(&warned)
			err := cmd.ExecuteContext(t.Context())
			if code, _ := cli.ExitCode(err); code == cli.ExitDone || !strings.Contains(err.Error(), "no right in bank") {
				t.Errorf("code %d: %v", code, err)
			}
			if !strings.Contains(out.String(), c.says) {
				t.Errorf("says %q, want %q", out.String(), c.says)
			}
		})
	}
}
