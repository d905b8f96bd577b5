package roll

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// rolloutCRD serves Rollouts without checking them; nothing acts on them.
const rolloutCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rollouts.argoproj.io}
spec:
  group: argoproj.io
  scope: Namespaced
  names: {kind: Rollout, listKind: RolloutList, plural: rollouts, singular: rollout}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

const podTemplate = `
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: example.test/main}]
`

func apply(t *testing.T, client dynamic.ResourceInterface, text string) {
	t.Helper()
	obj := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Create(t.Context(), &unstructured.Unstructured{Object: obj}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// rollNewest reads the workload web and rolls it, again while its controller writes to it in between, and returns what it
// read and what it wrote.
func rollNewest(t *testing.T, c *kube.Cluster, kind, namespace string) (before, after *workload.Workload) {
	t.Helper()
	eventually(t, "Roll of what was just read", func() bool {
		before = read(t, c, kind, namespace, "web")
		rolled, err := c.Roll(t.Context(), before, rollOf(t, before))
		if err != nil && !apierrors.IsInvalid(err) {
			t.Fatal(err)
		}
		after = rolled
		return err == nil
	})
	return before, after
}

// TestInPlace rolls a kind that every cluster has, and one of a group that the program has no types of.
func TestInPlace(t *testing.T) {
	client, err := dynamic.NewForConfig(cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apply(t, client.Resource(crds), rolloutCRD)
	eventually(t, "Rollouts are served", func() bool {
		_, err := client.Resource(workload.Rollout.Resource).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	for _, kind := range []workload.Kind{workload.Deployment, workload.Rollout} {
		t.Run(kind.Kind, func(t *testing.T) {
			namespace := cluster.Namespace(t)
			objects := client.Resource(kind.Resource).Namespace(namespace)
			apply(t, objects, "apiVersion: "+kind.Resource.GroupVersion().String()+"\nkind: "+kind.Kind+podTemplate)
			c := connect(t, cluster.Kubeconfig())
			w, rolled := rollNewest(t, c, kind.Kind, namespace)
			obj, err := objects.Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			content, _, err := unstructured.NestedMap(obj.Object, "spec", "template")
			if err != nil {
				t.Fatal(err)
			}
			template := corev1.PodTemplateSpec{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &template); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"aa11"}, marks(template)); diff != "" || rolled.Generation <= w.Generation {
				t.Errorf("generation %d, then %d, marks (-want +got):\n%s", w.Generation, rolled.Generation, diff)
			}
			if _, err := c.Roll(t.Context(), w, rollOf(t, w)); !apierrors.IsInvalid(err) {
				t.Errorf("Roll of what was rolled since it was read: %v, want a failed test", err)
			}
		})
	}
}

// TestSigned: the API server says who gave the annotation that names the last reload its value, also when somebody else writes the rest of
// the workload, and when an older value is brought back.
func TestSigned(t *testing.T) {
	client, err := dynamic.NewForConfig(cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	namespace := cluster.Namespace(t)
	objects := client.Resource(workload.Deployment.Resource).Namespace(namespace)
	apply(t, objects, "apiVersion: apps/v1\nkind: Deployment"+podTemplate)
	c := connect(t, cluster.Kubeconfig())
	before, after := rollNewest(t, c, "Deployment", namespace)
	if before.Signed || !after.Signed {
		t.Errorf("signed %v before the roll and %v after it, want false and true", before.Signed, after.Signed)
	}
	steps := []struct {
		patch, by string
		want      bool
		reason    string
	}{
		{`{"spec":{"replicas":2},"metadata":{"annotations":{"x":"y"}}}`, "kubectl-edit", true, "they have written other fields"},
		{`{"metadata":{"annotations":{"` + stamp + `":"r-older"}}}`, "kubectl-rollout", false, "what kubectl rollout undo brings back is its own"},
		{`{"metadata":{"annotations":{"` + stamp + `":"r-newer"}}}`, workload.MarkManager, true, "the next roll is ours again"},
	}
	for _, s := range steps {
		if _, err := objects.Patch(t.Context(), "web", types.MergePatchType, []byte(s.patch), metav1.PatchOptions{FieldManager: s.by}); err != nil {
			t.Fatal(err)
		}
		if w := read(t, c, "Deployment", namespace, "web"); w.Signed != s.want {
			t.Errorf("signed %v after a write by %s, want %v: %s", w.Signed, s.by, s.want, s.reason)
		}
	}
}
