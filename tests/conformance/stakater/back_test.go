//go:build nightly

package stakater_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// goBackAnnotations is goBack with the other strategy.
const goBackAnnotations = `
reason: what Reroll has written is what Stakater Reloader would write
given:
- {kind: ConfigMap, metadata: {name: app.one}, data: {a: "1", b: "x"}}
- {kind: Secret, metadata: {name: db-1}, data: {a: MQ==}}
- kind: Deployment
  metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
  spec:
    template:
      metadata: {annotations: {mine: kept}}
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
- do: [{patch: Secret/db-1, with: {data: {a: Mg==}}}]
  expect: {Deployment/web: 1}
- do: [{patch: ConfigMap/app.one, with: {data: {a: "2"}}}]
  expect: {Deployment/web: 1, StatefulSet/web: 1, DaemonSet/web: 1, CronJob/web: 1, Job/web: 1, DeploymentConfig/web: 1, Rollout/web: 1}
- do: [{patch: SecretProviderClassPodStatus/web-1, with: {status: {objects: [{id: a, version: "2"}]}}}]
  expect: {Deployment/keys: 1, Job/keys: 1}
`

// theirAnnotation is the value of the annotation as Stakater Reloader writes it, with its fields in this order.
type theirAnnotation struct {
	Type          string   `json:"type"`
	Name          string   `json:"name"`
	Namespace     string   `json:"namespace"`
	Hash          string   `json:"hash"`
	ContainerRefs []string `json:"containerRefs"`
	ObservedAt    int64    `json:"observedAt"`
}

const theirAnnotationKey = "reloader.stakater.com/last-reloaded-from"

// TestGoBackAnnotations: with the strategy annotations, a pod template has the annotation that Stakater Reloader would have written
// for the last change, to the byte but for the time, and nothing else that would be in its way.
func TestGoBackAnnotations(t *testing.T) {
	began := time.Now().Unix()
	p := withFlags(t, nil, append([]string{"--reload-strategy=annotations"}, otherKinds...)...)
	w := p.play(t, goBackAnnotations)
	want := theirAnnotation{Type: "CONFIGMAP", Name: "app.one", Namespace: w.Namespace("main"), Hash: scenario.StakaterHash("a=2", "b=x")}
	for ref, container := range map[scenario.Ref]string{
		"Deployment/web": "second", "StatefulSet/web": "first", "DaemonSet/web": "first", "Job/web": "second", "DeploymentConfig/web": "second",
		"Rollout/web": "second",
	} {
		want.ContainerRefs = []string{container}
		expectAnnotation(t, ref, templateOf(t, w, ref), began, want)
	}
	want.ContainerRefs = []string{"second"}
	expectAnnotation(t, "CronJob/web", newestJob(t, w, "web"), began, want)
	expectUnmarked(t, "CronJob/web", templateOf(t, w, "CronJob/web"))
	want.Type, want.Name, want.Hash = "SECRETPROVIDERCLASS", "keys", scenario.StakaterHash("a=2", "SecretProviderClassName=keys")
	for _, ref := range []scenario.Ref{"Deployment/keys", "Job/keys"} {
		expectAnnotation(t, ref, templateOf(t, w, ref), began, want)
	}
}

// expectAnnotation checks the annotation of a pod template, and that nothing else was written into it but Reroll's own hash, which means nothing to
// Stakater Reloader.
func expectAnnotation(t *testing.T, ref scenario.Ref, template *corev1.PodTemplateSpec, began int64, want theirAnnotation) {
	t.Helper()
	text := template.Annotations[theirAnnotationKey]
	var got theirAnnotation
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Errorf("%s: %v: %s", ref, err, text)
		return
	}
	if now := time.Now().Unix(); got.ObservedAt < began || got.ObservedAt > now {
		t.Errorf("%s: observedAt is %d, not between %d and %d", ref, got.ObservedAt, began, now)
	}
	want.ObservedAt = got.ObservedAt
	bytes, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(bytes), text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", ref, diff)
	}
	for key := range template.Annotations {
		if !slices.Contains([]string{theirAnnotationKey, "mine", "reroll.dev/config-hash"}, key) {
			t.Errorf("%s: the pod template has the annotation %s, too", ref, key)
		}
	}
	for _, c := range template.Spec.Containers {
		if slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return strings.HasPrefix(v.Name, "STAKATER_") }) {
			t.Errorf("%s: container %s has a variable, too", ref, c.Name)
		}
	}
}
