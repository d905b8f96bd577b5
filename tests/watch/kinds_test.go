package watch

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/workload"
)

func TestOptionalKindsComeAndGo(t *testing.T) {
	ns := shared.Namespace(t)
	noise := len(clientLog.String())
	f := follow(t, shared.Kubeconfig(), kube.Scope{Rollouts: true})
	always := createDeployment(t, ns, "always", "c")
	f.await(t, []string{ns}, always)

	remove := install(t, rollouts)
	create(t, workload.Rollout, ns, "web", map[string]any{"template": looseTemplate("c")})
	f.await(t, []string{ns}, always, ref("Rollout", ns, "web"))
	install(t, deploymentConfigs)
	create(t, workload.DeploymentConfig, ns, "web", map[string]any{"template": looseTemplate("c")})
	f.await(t, []string{ns}, always, ref("Rollout", ns, "web"), ref("DeploymentConfig", ns, "web"))

	remove()
	f.await(t, []string{ns}, always, ref("DeploymentConfig", ns, "web"))
	createDeployment(t, ns, "still", "c")
	f.await(t, []string{ns}, always, ref("Deployment", ns, "still"), ref("DeploymentConfig", ns, "web"))

	install(t, rollouts)
	create(t, workload.Rollout, ns, "again", map[string]any{"template": looseTemplate("c")})
	f.await(t, []string{ns}, always, ref("Deployment", ns, "still"), ref("DeploymentConfig", ns, "web"), ref("Rollout", ns, "again"))
	if log := f.log.String() + clientLog.String()[noise:]; log != "" {
		t.Errorf("that kinds come and go is logged:\n%s", log)
	}
}

func TestOneMalformedRolloutHurtsNoOther(t *testing.T) {
	install(t, rollouts)
	ns := shared.Namespace(t)
	create(t, workload.Rollout, ns, "bad", map[string]any{"template": map[string]any{"spec": map[string]any{"containers": 7}}})
	create(t, workload.Rollout, ns, "good", map[string]any{"template": looseTemplate("c")})
	f := follow(t, shared.Kubeconfig(), kube.Scope{Rollouts: true})
	good, bad := ref("Rollout", ns, "good"), ref("Rollout", ns, "bad")
	f.awaitThat(t, good, "with its reference", uses("c"))
	f.awaitThat(t, bad, "as one that asks for nothing", usesNothing)
	if log := f.log.String(); !strings.Contains(log, "name=bad") || strings.Contains(log, "name=good") {
		t.Errorf("log:\n%s", log)
	}
	if w, err := f.cluster.Read(t.Context(), bad); err == nil {
		t.Errorf("Read = %+v, want an error", w)
	}
	shared.MustKubectl(t, "patch", "-n", ns, rollouts, "bad", "--type=merge", `-p={"spec":{"template":{"spec":{"containers":[{"name":"main","envFrom":[{"configMapRef":{"name":"c"}}]}]}}}}`)
	f.awaitThat(t, bad, "with its reference once it is mended", uses("c"))
}

// via is the spec of a Rollout that runs a Deployment's template.
func via(deployment string) map[string]any {
	return map[string]any{"workloadRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment}}
}

// TestRolloutIsJoinedWithItsDeployment: TestWatcher of the adapter has the orders in which both can come and go.
func TestRolloutIsJoinedWithItsDeployment(t *testing.T) {
	install(t, rollouts)
	ns := shared.Namespace(t)
	f := follow(t, shared.Kubeconfig(), kube.Scope{Rollouts: true})
	create(t, workload.Rollout, ns, "web", via("late"))
	web := ref("Rollout", ns, "web")
	f.awaitThat(t, web, "as it is", usesNothing)
	createDeployment(t, ns, "late", "d")
	f.awaitThat(t, web, "with the Deployment that came", uses("d"))
	if w := f.get(web); w.Kind != "Rollout" || w.Via.Name != "late" || w.Selector == "" {
		t.Errorf("joined: %+v", w)
	}

	setConfig := `-p=[{"op":"replace","path":"/spec/template/spec/containers/0/envFrom/0/configMapRef/name","value":"e"}]`
	shared.MustKubectl(t, "patch", "-n", ns, "deploy", "late", "--type=json", setConfig)
	f.awaitThat(t, web, "with the Deployment's new template", uses("e"))
	if read, err := f.cluster.Read(t.Context(), web); err != nil || read.Via == nil || !uses("e")(read) {
		t.Errorf("Read = %+v, %v", read, err)
	}

	createDeployment(t, ns, "early", "c")
	shared.MustKubectl(t, "patch", "-n", ns, rollouts, "web", "--type=merge", `-p={"spec":{"workloadRef":{"name":"early"}}}`)
	f.awaitThat(t, web, "with another Deployment", uses("c"))
	shared.MustKubectl(t, "delete", "-n", ns, "deploy", "early")
	f.awaitThat(t, web, "as it is once the Deployment is gone", usesNothing)
}
