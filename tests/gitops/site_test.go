package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/line"
)

// site is a namespace with a ConfigMap, and a workload of it that a GitOps tool takes from git.
type site struct {
	namespace, kind string
	git             *unstructured.Unstructured
	client          dynamic.ResourceInterface
}

const manifest = `
metadata:
  name: web
  annotations: {ANNOTATIONS}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {example.com/team: shop}}
    spec:
      containers:
      - name: main
        image: "registry.example/web:1"
        env: [{name: LEVEL, value: low}]
        envFrom: [{configMapRef: {name: app}}]
`

// merged are the strategies whose marks stay on a Deployment that somebody applies: those to choose from, and those of other tools.
var merged = []string{"env-vars", "annotations", "sap", "wave", "fabric8", "collaborne", "trigger"}

// asked is what a workload says that is to be marked by a strategy. Those of other tools come with their annotations.
func asked(strategy string) string {
	switch strategy {
	case "sap":
		return "pod-reloader.cs.sap.com/configmaps: app"
	case "wave":
		return `wave.pusher.com/update-on-config-change: "true"`
	case "fabric8":
		return "configmap.fabric8.io/update-on-change: app"
	case "collaborne":
		return "reloader.k8s.collaborne.com/configmap: app"
	case "trigger":
		return "trigger.k8s.io/triggering-configMaps: app"
	}
	return `reloader.stakater.com/auto: "true", reroll.dev/strategy: ` + strategy
}

var resources = map[string]schema.GroupVersionResource{
	"Deployment": {Group: "apps", Version: "v1", Resource: "deployments"},
	"Rollout":    {Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"},
}

// newSite returns a site whose workload the tool has applied, and of which Reroll knows.
func newSite(t *testing.T, kind, strategy string, by tool) *site {
	t.Helper()
	s := &site{namespace: shared.Kube.Namespace(t), kind: kind, git: &unstructured.Unstructured{}}
	if err := yaml.Unmarshal([]byte(strings.Replace(manifest, "ANNOTATIONS", asked(strategy), 1)), &s.git.Object); err != nil {
		t.Fatal(err)
	}
	s.git.SetNamespace(s.namespace)
	s.git.SetGroupVersionKind(resources[kind].GroupVersion().WithKind(kind))
	client, err := dynamic.NewForConfig(shared.Kube.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.client = client.Resource(resources[kind]).Namespace(s.namespace)
	app := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "app"}, Data: map[string]string{"a": "1"}}
	if _, err := shared.Kube.Client().CoreV1().ConfigMaps(s.namespace).Create(t.Context(), app, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(by.name, replacing.name) { // there is nothing to replace yet
		s.kubectl(t, "create", "--field-manager=argocd-controller")
	} else {
		by.sync(t, s)
	}
	s.poll(t, func(ctx context.Context) error {
		names, open, err := shared.Reroll.Settled(ctx, s.namespace)
		if err == nil && (len(names) == 0 || open > 0) {
			err = errors.New("Reroll does not know the workload yet")
		}
		return err
	})
	return s
}

func (s *site) poll(t *testing.T, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stepTime)
	defer cancel()
	if err := line.Poll(ctx, check); err != nil {
		t.Fatal(err)
	}
}

func (s *site) live(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	live, err := s.client.Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return live
}

// commit changes the image in git.
func (s *site) commit(t *testing.T, image string) {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(s.git.Object, "spec", "template", "spec", "containers")
	if err != nil {
		t.Fatal(err)
	}
	containers[0].(map[string]any)["image"] = image
	if err := unstructured.SetNestedSlice(s.git.Object, containers, "spec", "template", "spec", "containers"); err != nil {
		t.Fatal(err)
	}
}

// edit gives the ConfigMap another content, waits until Reroll has rolled the workload for it, that often since the beginning, and returns the
// mark.
func (s *site) edit(t *testing.T, value string, times int) string {
	t.Helper()
	patch := fmt.Appendf(nil, `{"data":{"a":%q}}`, value)
	if _, err := shared.Kube.Client().CoreV1().ConfigMaps(s.namespace).Patch(t.Context(), "app", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.poll(t, func(ctx context.Context) error {
		switch n, err := s.rolls(ctx); {
		case err != nil:
			return err
		case n > times:
			return line.Stop(fmt.Errorf("it was rolled %d times, want %d", n, times))
		case n < times:
			return fmt.Errorf("it was rolled %d times, want %d", n, times)
		}
		return nil
	})
	mark := s.mark(t)
	if mark == "" {
		t.Fatal("it was rolled, and has no mark")
	}
	return mark
}

// rolls returns how often Reroll has rolled the workload.
func (s *site) rolls(ctx context.Context) (n int, err error) {
	reloads, err := shared.Reroll.Reloads(ctx, s.namespace)
	for _, r := range reloads {
		if r.Outcome == "Reloaded" {
			n++
		}
	}
	return n, err
}

// mark returns the mark that the workload has, of whatever strategy.
func (s *site) mark(t *testing.T) string {
	t.Helper()
	live := s.live(t).Object
	at, _, _ := unstructured.NestedString(live, "spec", "restartAt")
	mark := at
	for _, key := range []string{
		"reloader.stakater.com/last-reloaded-from", "pod-reloader.cs.sap.com/config-hash", "wave.pusher.com/config-hash",
		"trigger.k8s.io/configMap-app-last-hash",
	} {
		annotation, _, _ := unstructured.NestedString(live, "spec", "template", "metadata", "annotations", key)
		mark += annotation
	}
	containers, _, _ := unstructured.NestedSlice(live, "spec", "template", "spec", "containers")
	for _, c := range containers {
		env, _ := c.(map[string]any)["env"].([]any)
		for _, v := range env {
			named := v.(map[string]any)
			if slices.Contains([]any{"STAKATER_APP_CONFIGMAP", "FABRIC8_APP_CONFIGMAP", "_RELOADER_CONFIGMAP_APP"}, named["name"]) {
				mark += fmt.Sprint(named["value"])
			}
		}
	}
	return mark
}

// expect checks how often the workload was changed since it had a generation, which mark it has, and whether the tool finds a drift.
func (s *site) expect(t *testing.T, by tool, when string, since, changes int64, mark string, drifted bool) {
	t.Helper()
	if got := s.live(t).GetGeneration() - since; got != changes {
		t.Errorf("%s: it was changed %d times, want %d", when, got, changes)
	}
	if got := s.mark(t); got != mark {
		t.Errorf("%s: its mark is %q, want %q", when, got, mark)
	}
	if got := by.drifted(t, s); got != drifted {
		t.Errorf("%s: drifted: %t, want %t", when, got, drifted)
	}
}
