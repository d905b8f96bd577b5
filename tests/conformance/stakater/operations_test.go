//go:build nightly

package stakater_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
	"github.com/reroll-dev/reroll/tests/scenario"
	"github.com/reroll-dev/reroll/tests/world"
)

// oneEdit returns a scenario in which the edit of a ConfigMap reloads a Deployment, for a process with flags.
func oneEdit(t *testing.T, flags ...string) scenario.Case {
	t.Helper()
	s, err := scenario.Parse(t.Name(), []byte(`
reason: an edit reloads
given:
- {kind: ConfigMap, metadata: {name: app}, data: {a: "1"}}
- kind: Deployment
  metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
  spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}
steps:
- do: [{patch: ConfigMap/app, with: {data: {a: "2"}}}]
  expect: {Deployment/web: 1}
`))
	line.Must(t, err)
	return scenario.Case{Scenario: s, Flags: flags}
}

// edit gives the ConfigMap its next content.
func edit(t *testing.T, w *world.World) {
	t.Helper()
	if _, err := w.Patch(t.Context(), "ConfigMap/app", scenario.PatchTypes["merge"], []byte(`{"data":{"a":"3"}}`)); err != nil {
		t.Fatal(err)
	}
}

// rolledTwice waits until the Deployment has rolled for both edits, and checks that nothing rolls after that.
func rolledTwice(t *testing.T, w *world.World) {
	t.Helper()
	line.Eventually(t, "the second roll", func(ctx context.Context) error {
		if got, err := w.Generation(ctx, "Deployment/web"); err != nil || got < 3 {
			return fmt.Errorf("generation %d, want 3: %w", got, err)
		}
		return nil
	})
	line.Must(t, w.Quiesce(t.Context()))
	if got, err := w.Generation(t.Context(), "Deployment/web"); err != nil || got != 3 {
		t.Errorf("generation %d, want 3: %v", got, err)
	}
}

// TestMetrics: an edit is counted under the names that dashboards know, by namespace only if the settings ask for it.
func TestMetrics(t *testing.T) {
	for flags, there := range map[string]bool{"--set=metrics.countByNamespace=true": true, "--set=metrics.countByNamespace=false": false} {
		c := oneEdit(t, flags)
		namespace := world.NewProcess(t, shared, c).Play(t, c).Namespace("main")
		line.Eventually(t, "what was done is counted", func(ctx context.Context) error {
			text, err := shared.Reroll.Metrics(ctx)
			for sample, want := range map[string]bool{
				"# TYPE rest_client_requests_total counter\n":                                                         true,
				"# TYPE rest_client_request_duration_seconds histogram\n":                                             true,
				"\nreloader_reload_executed_total{success=\"true\"} 1\n":                                              true,
				"\nreloader_reload_executed_total{success=\"false\"} 0\n":                                             true,
				"\nreloader_reload_executed_total_by_namespace{namespace=\"" + namespace + "\",success=\"true\"} 1\n": there,
			} {
				if strings.Contains(text, sample) != want {
					err = errors.Join(err, fmt.Errorf("%q is there: %t", sample, !want))
				}
			}
			return err
		})
	}
}

// TestListErrorIsNoSuccess: while the API server refuses to list Deployments, Reroll is not ready; a change that was made before is
// rolled as soon as they can be listed.
func TestListErrorIsNoSuccess(t *testing.T) {
	kubectl := func(args ...string) {
		t.Helper()
		if _, err := shared.Kube.Kubectl(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	kubectl("apply", "--filename=testdata/unlisted.yaml")
	t.Cleanup(func() {
		_, _ = shared.Kube.Kubectl(context.Background(), "delete", "--ignore-not-found", "--filename=testdata/unlisted.yaml", "--filename=testdata/listed.yaml")
	})
	kubeconfig, err := shared.Kube.UserKubeconfig("unlisted")
	line.Must(t, err)
	c := oneEdit(t)
	w := world.NewProcess(t, shared, c).Play(t, c)
	line.Must(t, shared.Reroll.Terminate(t.Context()))
	edit(t, w)
	line.Must(t, shared.Reroll.Start("--set", "debounce.window=0s", "--kubeconfig", kubeconfig))
	line.Eventually(t, "several refusals", func(ctx context.Context) error {
		if n, err := shared.Reroll.Metric(ctx, "rest_client_requests_total", `code="403"`); err != nil || n < 3 {
			return fmt.Errorf("%v were refused: %w", n, err)
		}
		return nil
	})
	if code, answer, err := shared.Reroll.Probe(t.Context(), "/readyz"); err != nil || code == http.StatusOK {
		t.Errorf("/readyz while nothing can be listed: %d %q, %v", code, answer, err)
	}
	if got, err := w.Generation(t.Context(), "Deployment/web"); err != nil || got != 2 {
		t.Errorf("generation %d, %v; want 2", got, err)
	}
	kubectl("apply", "--filename=testdata/listed.yaml")
	line.Must(t, shared.Reroll.WaitReady(t.Context()))
	rolledTwice(t, w)
}

// failOverTime is how long after a kill another replica may take to lead, as its Lease says and a busy machine delays.
const failOverTime = 30 * time.Second

// TestFailOver: of two replicas one works; when it is killed the other does, and what changed meanwhile is rolled once.
func TestFailOver(t *testing.T) {
	nats := natsserver.Start(t)
	l, err := line.StartRoles(t.Context(), line.Options{
		Kube: kube.Options{ControlPlaneOnly: true}, Flags: []string{"--enable-ha", "--set=debounce.window=0s"}, Environment: []string{"POD_NAME=one", "POD_NAMESPACE=default"},
	}, nats.ClientURL())
	line.Must(t, err)
	t.Cleanup(l.Stop)
	second, err := l.AddDispatch("POD_NAME=two", "POD_NAMESPACE=default")
	line.Must(t, err)
	line.Must(t, second.WaitReady(t.Context()))
	if code, answer, err := second.Probe(t.Context(), "/live"); err != nil || code != http.StatusOK {
		t.Errorf("/live of who waits: %d %q, %v", code, answer, err)
	}
	w := world.New(t, l, world.Options{})
	scenario.Run(t.Context(), t, oneEdit(t).Scenario, w)
	l.Dispatch.Kill()
	killed := time.Now()
	edit(t, w)
	rolledTwice(t, w)
	lock, err := l.Kube.Client().CoordinationV1().Leases("default").Get(t.Context(), "stakater-reloader-lock", metav1.GetOptions{})
	line.Must(t, err)
	if took := lock.Spec.AcquireTime.Sub(killed); *lock.Spec.HolderIdentity != "two" || took <= 0 || took > failOverTime {
		t.Errorf("%s leads since %s after the kill; want the second within %s", *lock.Spec.HolderIdentity, took.Round(time.Millisecond), failOverTime)
	}
}
