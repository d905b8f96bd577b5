package watch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// createEveryKind creates a workload of every kind, all called app and of ConfigMap c.
func createEveryKind(t *testing.T, namespace string) []reloader.WorkloadRef {
	t.Helper()
	client, o, meta := shared.Client(), metav1.CreateOptions{}, metav1.ObjectMeta{Name: "app"}
	onFailure := template("c")
	onFailure.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	createDeployment(t, namespace, "app", "c")
	_, err := client.AppsV1().StatefulSets(namespace).Create(t.Context(),
		&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template("c")}}, o)
	must(t, err)
	_, err = client.AppsV1().DaemonSets(namespace).Create(t.Context(),
		&appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template("c")}}, o)
	must(t, err)
	_, err = client.BatchV1().Jobs(namespace).Create(t.Context(), &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: onFailure}}, o)
	must(t, err)
	_, err = client.BatchV1().CronJobs(namespace).Create(t.Context(), &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{
		Schedule: "@daily", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: onFailure}},
	}}, o)
	must(t, err)
	create(t, workload.Rollout, namespace, "app", map[string]any{"template": looseTemplate("c")})
	create(t, workload.DeploymentConfig, namespace, "app", map[string]any{"template": looseTemplate("c"), "selector": map[string]any{"app": "a"}})
	var refs []reloader.WorkloadRef
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
