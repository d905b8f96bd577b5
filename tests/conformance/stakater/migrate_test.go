package stakater_test

import (
	"context"
	"crypto/sha1"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
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
steps:
- do: [{patch: ConfigMap/app.one, with: {data: {a: "2"}}}]
  expect: {Deployment/web: 1, StatefulSet/web: 1, DaemonSet/web: 1}
- do: [{patch: Secret/db-1, with: {data: {a: Mg==}}}]
  expect: {Deployment/web: 1}
- do: [{patch: ConfigMap/app.one, with: {data: {c: "3"}}}]
  expect: {Deployment/web: 1, StatefulSet/web: 1, DaemonSet/web: 1}
`

// TestGoBack: after Reroll has worked, what Stakater Reloader would write for the present content is there already, by its algorithm
// as restated here: so it writes nothing.
func TestGoBack(t *testing.T) {
	p := withFlags(t, nil)
	w := p.play(t, goBack)
	configMap, err := shared.Kube.Client().CoreV1().ConfigMaps(w.Namespace("main")).Get(t.Context(), "app.one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var entries []string
	for key, value := range configMap.Data {
		entries = append(entries, key+"="+value)
	}
	for ref, container := range map[scenario.Ref]int{"Deployment/web": 1, "StatefulSet/web": 0, "DaemonSet/web": 0} {
		template, err := w.Template(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		expectVariable(t, ref, template, container, theirName("app.one", "CONFIGMAP"), theirHash(entries))
	}
	template, err := w.Template(t.Context(), "Deployment/web")
	if err != nil {
		t.Fatal(err)
	}
	expectVariable(t, "Deployment/web", template, 0, theirName("db-1", "SECRET"), theirHash([]string{"a=2"}))
}

var runs = regexp.MustCompile("[^A-Z0-9]+")

// theirName and theirHash restate the algorithms of Stakater Reloader.
func theirName(name, kind string) string {
	return "STAKATER_" + strings.TrimPrefix(runs.ReplaceAllString(strings.ToUpper(name), "_"), "_") + "_" + kind
}

func theirHash(entries []string) string {
	slices.Sort(entries)
	return fmt.Sprintf("%x", sha1.Sum([]byte(strings.Join(entries, ";"))))
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

// TestNoListForStrangers: an edit that nobody depends on lists no workloads, and reads nothing of the config's content.
func TestNoListForStrangers(t *testing.T) {
	p := withFlags(t, nil)
	edits := `
reason: an edit that nobody depends on
given: [{kind: Secret, metadata: {name: app}, data: {a: MQ==}}]
steps: [{do: [{patch: Secret/app, with: {data: {a: Mg==}}}]}]
`
	p.play(t, edits)
	lists := requests(t, "LIST", "deployments") + requests(t, "LIST", "statefulsets") + requests(t, "LIST", "daemonsets") + requests(t, "LIST", "jobs")
	secrets := requests(t, "GET", "secrets") + requests(t, "LIST", "secrets")
	p.play(t, edits)
	after := requests(t, "LIST", "deployments") + requests(t, "LIST", "statefulsets") + requests(t, "LIST", "daemonsets") + requests(t, "LIST", "jobs")
	if after != lists {
		t.Errorf("workloads were listed %v times", after-lists)
	}
	if now := requests(t, "GET", "secrets") + requests(t, "LIST", "secrets"); now != secrets {
		t.Errorf("Secrets were read %v times", now-secrets)
	}
}

// requests returns how many requests of that verb for a resource the API server has answered.
func requests(t *testing.T, verb, resource string) float64 {
	t.Helper()
	n, err := shared.Kube.Metric(t.Context(), "apiserver_request_total", `verb="`+verb+`"`, `resource="`+resource+`"`)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// fanOut is how many Deployments use one ConfigMap.
const fanOut = 60

// TestFanOut: the last of many workloads is rolled within seconds of the change.
func TestFanOut(t *testing.T) {
	p := withFlags(t, nil)
	w := p.play(t, oneEdit)
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	namespace := w.Namespace("main")
	deployments := shared.Kube.Client().AppsV1().Deployments(namespace)
	web, err := deployments.Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range fanOut {
		more := web.DeepCopy()
		more.ObjectMeta = metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i), Annotations: map[string]string{"reloader.stakater.com/auto": "true"}}
		if _, err := deployments.Create(ctx, more, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Quiesce(ctx); err != nil {
		t.Fatal(err)
	}
	if err := w.Patch(ctx, "ConfigMap/app", scenario.PatchTypes["merge"], []byte(`{"data":{"a":"3"}}`)); err != nil {
		t.Fatal(err)
	}
	last := reloadedAll(ctx, t, namespace)
	// Theirs takes 10.2 s: its client sends five requests a second.
	if limit := 5.0; last > limit {
		t.Errorf("the last of %d was rolled after %.1f s, more than %.0f s", fanOut, last, limit)
	}
}

// reloadedAll waits until all of the fan-out have reloaded, and returns how long after its request the last was patched, in seconds.
func reloadedAll(ctx context.Context, t *testing.T, namespace string) float64 {
	t.Helper()
	last := 0.0
	err := line.Poll(ctx, func(ctx context.Context) error {
		reloads, err := shared.Reroll.Reloads(ctx, namespace)
		if err != nil {
			return err
		}
		done := 0
		for _, r := range reloads {
			if strings.HasPrefix(r.Workload.Name, "web-") && r.Outcome == "Reloaded" && len(r.Causes) > 0 {
				done++
				last = max(last, r.PatchedAt.Sub(r.Causes[0].RequestedAt).Seconds())
			}
		}
		if done != fanOut {
			return fmt.Errorf("%d of %d have reloaded", done, fanOut)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return last
}
