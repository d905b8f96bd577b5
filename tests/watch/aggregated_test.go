//go:build nightly

package watch

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// downAPI has the API server forward a group to a server that does not exist, as OpenShift's is while it restarts.
const downAPI = `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata:
  name: v1.apps.openshift.io
spec:
  group: apps.openshift.io
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service:
    namespace: default
    name: nobody
`

func TestAnAPIThatIsDownHoldsNothingUp(t *testing.T) {
	ns := shared.Namespace(t)
	always := createDeployment(t, ns, "app", "c")
	apply := shared.Command(t.Context(), "apply", "-f", "-")
	apply.Stdin = strings.NewReader(downAPI)
	must(t, runQuietly(apply))
	remove := func(ctx context.Context) error {
		_, err := shared.Kubectl(ctx, "delete", "--ignore-not-found", "apiservice", "v1.apps.openshift.io")
		return err
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		must(t, remove(ctx))
	})

	// The API server knows of the group a moment after it has stored that. Nobody answers for it then.
	poll(t, func() error {
		_, err := shared.Client().CoreV1().RESTClient().Get().AbsPath("/apis/apps.openshift.io/v1").DoRaw(t.Context())
		if err == nil || apierrors.IsNotFound(err) {
			return fmt.Errorf("the API server does not ask for the group: %w", err)
		}
		return nil
	})
	f := follow(t, shared.Kubeconfig(), kube.Scope{})
	if f.get(always) == nil {
		t.Error("the Deployment was not tracked when Watch returned")
	}
	if log := f.log.String(); strings.Count(log, "level=WARN") != 1 || !strings.Contains(log, "kind=DeploymentConfig") {
		t.Errorf("log:\n%s", log)
	}

	must(t, remove(t.Context()))
	install(t, deploymentConfigs)
	create(t, workload.DeploymentConfig, ns, "app", map[string]any{"template": looseTemplate("c")})
	f.await(t, []string{ns}, always, ref("DeploymentConfig", ns, "app"))
}

func runQuietly(c *exec.Cmd) error {
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
