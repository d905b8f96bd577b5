//go:build nightly

package stakater_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/scenario"
)

const twoNamespaces = `
reason: the same in two namespaces
given:
- {kind: ConfigMap, metadata: {name: app}, data: {a: "1"}}
- kind: Deployment
  metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
  spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}
- {kind: ConfigMap, metadata: {name: app, namespace: ending}, data: {a: "1"}}
- kind: Deployment
  metadata: {name: web, namespace: ending, annotations: {reloader.stakater.com/auto: "true"}}
  spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}
steps:
- do: [{patch: ConfigMap/app, with: {data: {a: "2"}}}, {patch: ConfigMap/ending/app, with: {data: {a: "2"}}}]
  expect: {Deployment/web: 1, Deployment/ending/web: 1}
`

// TestEndingNamespace: a config that goes with its namespace reloads nothing, while the deletion of its like elsewhere does.
func TestEndingNamespace(t *testing.T) {
	p := withFlags(t, nil, "--reload-on-delete=true")
	w := p.play(t, twoNamespaces)
	ctx, cancel := context.WithTimeout(t.Context(), 2*startTime)
	defer cancel()
	// Nobody here acts on the deletion: the namespace is ending for as long as the test looks.
	if err := shared.Kube.Client().CoreV1().Namespaces().Delete(ctx, w.Namespace("ending"), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []scenario.Ref{"ConfigMap/ending/app", "ConfigMap/app"} {
		if err := w.Delete(ctx, ref); err != nil {
			t.Fatal(err)
		}
	}
	awaitGeneration(ctx, t, w, 3)
	if err := w.Quiesce(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Generation(ctx, "Deployment/ending/web"); err != nil || got != 2 {
		t.Errorf("in the namespace that is ending it has generation %d, %v; want 2: it was created, and rolled for the edit", got, err)
	}
}
