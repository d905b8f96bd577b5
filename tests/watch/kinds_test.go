package watch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// everyKind has a workload of every kind, all called app and of ConfigMap c.
const everyKind = `
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: app}, spec: {selector: {matchLabels: {app: a}}, template: TEMPLATE}}
- {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: app}, spec: {selector: {matchLabels: {app: a}}, template: TEMPLATE}}
- {apiVersion: apps/v1, kind: DaemonSet, metadata: {name: app}, spec: {selector: {matchLabels: {app: a}}, template: TEMPLATE}}
- {apiVersion: batch/v1, kind: Job, metadata: {name: app}, spec: {template: ONCE}}
- {apiVersion: batch/v1, kind: CronJob, metadata: {name: app}, spec: {schedule: "@daily", jobTemplate: {spec: {template: ONCE}}}}
- {apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: app}, spec: {template: TEMPLATE}}
- {apiVersion: apps.openshift.io/v1, kind: DeploymentConfig, metadata: {name: app}, spec: {selector: {app: a}, template: TEMPLATE}}
`

// createEveryKind creates them. A resource that is established may need a moment more until it is served.
func createEveryKind(t *testing.T, namespace string) (refs []reloader.WorkloadRef) {
	t.Helper()
	const pod = `{metadata: {labels: {app: a}}, spec: {restartPolicy: POLICY, containers: [{name: main, image: x, envFrom: [{configMapRef: {name: c}}]}]}}`
	manifest := "apiVersion: v1\nkind: List\nitems:" + strings.NewReplacer("TEMPLATE", strings.Replace(pod, "POLICY", "Always", 1), "ONCE", strings.Replace(pod, "POLICY", "OnFailure", 1)).Replace(everyKind)
	poll(t, func() error {
		cmd := shared.Command(t.Context(), "apply", "--namespace="+namespace, "--filename=-")
		cmd.Stdin = strings.NewReader(manifest)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	for _, k := range workload.Kinds {
		refs = append(refs, ref(k.Kind, namespace, "app"))
	}
	return refs
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryKindIsWatchedAndRead(t *testing.T) {
	install(t, rollouts)
	install(t, deploymentConfigs)
	ns := shared.Namespace(t)
	before := createEveryKind(t, ns)
	f := follow(t, shared.Kubeconfig(), kube.Scope{Rollouts: true})
	if got := f.in(ns); len(got) != len(before) {
		t.Errorf("tracked when Watch returned: %q, want one of each kind", got)
	}
	later := shared.Namespace(t)
	f.await(t, []string{ns, later}, append(createEveryKind(t, later), before...)...)
	for _, r := range before {
		read, err := f.cluster.Read(t.Context(), r)
		if err != nil {
			t.Errorf("read %s: %v", r, err)
			continue
		}
		if diff := cmp.Diff(f.get(r), read); diff != "" {
			t.Errorf("%s: watched and read differ (-watched +read):\n%s", r, diff)
		}
		if !uses("c")(read) {
			t.Errorf("%s: references %v", r, read.Template.References)
		}
	}
	for _, resource := range []string{"deploy", "sts", "ds", "job", "cronjob", rollouts, deploymentConfigs} {
		kubectl(t, "delete", "-n", later, resource, "app")
	}
	f.await(t, []string{ns, later}, before...)
}

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
	kubectl(t, "patch", "-n", ns, rollouts, "bad", "--type=merge", `-p={"spec":{"template":{"spec":{"containers":[{"name":"main","envFrom":[{"configMapRef":{"name":"c"}}]}]}}}}`)
	f.awaitThat(t, bad, "with its reference once it is mended", uses("c"))
}
