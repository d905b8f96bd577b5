//go:build nightly

package stakater_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/scenario"
	"github.com/reroll-dev/reroll/tests/world"
)

// goBack is a cluster that Reroll has worked in for a while: every rule about containers has been at work.
const goBack = `
reason: what Reroll has written is what Stakater Reloader would write
given:
- {kind: ConfigMap, metadata: {name: app.one}, data: {a: "1", b: "x"}}
- {kind: Secret, metadata: {name: db-1}, data: {a: MQ==}}
- kind: Deployment
  metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
  spec:
    template:
      spec:
        containers:
        - {name: first, envFrom: [{secretRef: {name: db-1}}]}
        - {name: second, volumeMounts: [{name: v, mountPath: /v}]}
        volumes: [{name: v, configMap: {name: app.one}}]
- kind: StatefulSet
  metadata: {name: web, annotations: {configmap.reloader.stakater.com/reload: app.one}}
  spec: {template: {spec: {containers: [{name: first}, {name: second}]}}}
- kind: DaemonSet
  metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
  spec: {template: {spec: {initContainers: [{name: init, envFrom: [{configMapRef: {name: app.one}}]}], containers: [{name: first}, {name: second}]}}}
` + goBackOthers + `
steps:
- do: [{patch: ConfigMap/app.one, with: {data: {a: "2"}}}]
  expect: {Deployment/web: 1, StatefulSet/web: 1, DaemonSet/web: 1, CronJob/web: 1, Job/web: 1, DeploymentConfig/web: 1, Rollout/web: 1}
- do: [{patch: Secret/db-1, with: {data: {a: Mg==}}}]
  expect: {Deployment/web: 1}
- do: [{patch: SecretProviderClassPodStatus/web-1, with: {status: {objects: [{id: a, version: "2"}]}}}]
  expect: {Deployment/keys: 1, Job/keys: 1}
- do: [{patch: ConfigMap/app.one, with: {data: {c: "3"}}}]
  expect: {Deployment/web: 1, StatefulSet/web: 1, DaemonSet/web: 1, CronJob/web: 1, Job/web: 1, DeploymentConfig/web: 1, Rollout/web: 1}
`

// goBackOthers are the kinds that are not marked in place, those of other vendors, and what uses a SecretProviderClass.
const goBackOthers = `
- kind: CronJob
  metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
  spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: first}, {name: second, envFrom: [{configMapRef: {name: app.one}}]}]}}}}}
- kind: Job
  metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
  spec: {template: {spec: {containers: [{name: first}, {name: second, envFrom: [{configMapRef: {name: app.one}}]}]}}}
- kind: DeploymentConfig
  metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
  spec: {template: {spec: {containers: [{name: first}, {name: second, envFrom: [{configMapRef: {name: app.one}}]}]}}}
- kind: Rollout
  metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
  spec: {template: {spec: {containers: [{name: first}, {name: second, envFrom: [{configMapRef: {name: app.one}}]}]}}}
- {apiVersion: secrets-store.csi.x-k8s.io/v1, kind: SecretProviderClass, metadata: {name: keys}, spec: {provider: vault}}
- apiVersion: secrets-store.csi.x-k8s.io/v1
  kind: SecretProviderClassPodStatus
  metadata: {name: web-1}
  status: {secretProviderClassName: keys, podName: web-1, mounted: true, objects: [{id: a, version: "1"}]}
- kind: Deployment
  metadata: {name: keys, annotations: {reloader.stakater.com/auto: "true"}}
  spec: {template: {spec: {containers: [{name: first}, {name: second, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, csi: {driver: secrets-store.csi.k8s.io, volumeAttributes: {secretProviderClass: keys}}}]}}}
- kind: Job
  metadata: {name: keys, annotations: {secretproviderclass.reloader.stakater.com/auto: "true"}}
  spec: {template: {spec: {containers: [{name: first}, {name: second, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, csi: {driver: secrets-store.csi.k8s.io, volumeAttributes: {secretProviderClass: keys}}}]}}}
`

// otherKinds are the flags under which goBackOthers are handled.
var otherKinds = []string{"--is-Argo-Rollouts=true", "--enable-csi-integration"}

// TestGoBack: after Reroll has worked, what Stakater Reloader would write for the present content is there already, by its algorithm
// as restated here: so it writes nothing.
func TestGoBack(t *testing.T) {
	p := withFlags(t, nil, otherKinds...)
	w := p.play(t, goBack)
	configMap, err := shared.Kube.Client().CoreV1().ConfigMaps(w.Namespace("main")).Get(t.Context(), "app.one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var entries []string
	for key, value := range configMap.Data {
		entries = append(entries, key+"="+value)
	}
	variable, hash := theirName("app.one", "CONFIGMAP"), scenario.StakaterHash(entries...)
	for ref, container := range map[scenario.Ref]int{
		"Deployment/web": 1, "StatefulSet/web": 0, "DaemonSet/web": 0, "Job/web": 1, "DeploymentConfig/web": 1, "Rollout/web": 1,
	} {
		expectVariable(t, ref, templateOf(t, w, ref), container, variable, hash)
	}
	expectVariable(t, "CronJob/web", newestJob(t, w, "web"), 1, variable, hash)
	expectUnmarked(t, "CronJob/web", templateOf(t, w, "CronJob/web"))
	expectVariable(t, "Deployment/web", templateOf(t, w, "Deployment/web"), 0, theirName("db-1", "SECRET"), scenario.StakaterHash("a=2"))
	for _, ref := range []scenario.Ref{"Deployment/keys", "Job/keys"} {
		hash := scenario.StakaterHash("a=2", "SecretProviderClassName=keys")
		expectVariable(t, ref, templateOf(t, w, ref), 1, theirName("keys", "SECRETPROVIDERCLASS"), hash)
	}
}

func templateOf(t *testing.T, w *world.World, ref scenario.Ref) *corev1.PodTemplateSpec {
	t.Helper()
	template, err := w.Template(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

// newestJob returns the pod template of the Job that was made last of a CronJob.
func newestJob(t *testing.T, w *world.World, cronJob string) *corev1.PodTemplateSpec {
	t.Helper()
	jobs, err := shared.Kube.Client().BatchV1().Jobs(w.Namespace("main")).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var newest *batchv1.Job
	for i, job := range jobs.Items {
		owner := metav1.GetControllerOf(&job)
		if owner == nil || owner.Kind != "CronJob" || owner.Name != cronJob {
			continue
		}
		if newest == nil || job.CreationTimestamp.After(newest.CreationTimestamp.Time) {
			newest = &jobs.Items[i]
		}
	}
	if newest == nil {
		t.Fatalf("no Job was made of CronJob %s", cronJob)
	}
	return &newest.Spec.Template
}

// expectUnmarked checks that nothing was written into a pod template.
func expectUnmarked(t *testing.T, ref scenario.Ref, template *corev1.PodTemplateSpec) {
	t.Helper()
	if len(template.Annotations) > 0 {
		t.Errorf("%s: the pod template has annotations: %v", ref, template.Annotations)
	}
	for _, c := range template.Spec.Containers {
		if len(c.Env) > 0 {
			t.Errorf("%s: container %s has variables: %v", ref, c.Name, c.Env)
		}
	}
}

var runs = regexp.MustCompile("[^A-Z0-9]+")

// theirName restates the algorithm of Stakater Reloader.
func theirName(name, kind string) string {
	return "STAKATER_" + strings.TrimPrefix(runs.ReplaceAllString(strings.ToUpper(name), "_"), "_") + "_" + kind
}

func expectVariable(t *testing.T, ref scenario.Ref, template *corev1.PodTemplateSpec, container int, name, value string) {
	t.Helper()
	for i, c := range template.Spec.Containers {
		at := slices.IndexFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == name })
		switch {
		case i != container && at >= 0:
			t.Errorf("%s: container %s carries %s, which belongs to another", ref, c.Name, name)
		case i == container && at < 0:
			t.Errorf("%s: container %s does not carry %s", ref, c.Name, name)
		case i == container && c.Env[at].Value != value:
			t.Errorf("%s: %s is %s, want %s", ref, name, c.Env[at].Value, value)
		}
	}
}
