package roll

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
	"github.com/reroll-dev/reroll/tests/line"
)

// template has marks of before, and a variable of a mark's name that takes its value from elsewhere.
const template = `{"metadata":{"labels":{"app":"web"}},"spec":{"restartPolicy":"Always","containers":[
{"name":"main","image":"i","env":[{"name":"TWICE","value":"1"},{"name":"STAKATER_Z_CONFIGMAP","value":"00"},{"name":"URL","value":"$(HOST)"},{"name":"STAKATER_A_CONFIGMAP","value":"00"},{"name":"STAKATER_GONE_SECRET","value":"00"},{"name":"TWICE","value":"2"}]},
{"name":"bare","image":"i"},
{"name":"aside","image":"i","env":[{"name":"STAKATER_FROM_CONFIGMAP","valueFrom":{"configMapKeyRef":{"name":"c","key":"k"}}}]}]}}`

// inPlace are the kinds that a roll changes in place. Nothing acts on the last two.
var inPlace = map[string]string{
	"Deployment":       `{"replicas":0,"selector":{"matchLabels":{"app":"web"}},"template":` + template + `}`,
	"StatefulSet":      `{"replicas":0,"serviceName":"web","selector":{"matchLabels":{"app":"web"}},"template":` + template + `}`,
	"DaemonSet":        `{"selector":{"matchLabels":{"app":"web"}},"template":` + template + `}`,
	"Rollout":          `{"replicas":0,"strategy":{"canary":{"large":9007199254740993}},"selector":{"matchLabels":{"app":"web"}},"template":` + template + `}`,
	"DeploymentConfig": `{"replicas":0,"selector":{"app":"web"},"template":` + template + `}`,
}

// TestInPlace: a roll is written once, and the object is then what mark.Apply makes of it. What was read from another version or object is a
// conflict, and a variable that has a valueFrom is refused.
func TestInPlace(t *testing.T) {
	env := func(name, value string, containers ...string) mark.Mark {
		return mark.Mark{Place: mark.Place{Env: name, Containers: containers}, Value: value}
	}
	roll := mark.Roll{
		Hash: "h", Annotations: map[string]any{"reroll.dev/applied": `{"n":1}`, "old": nil, "absent": nil},
		Marks: []mark.Mark{
			env("STAKATER_A_CONFIGMAP", "11", "main"), env("STAKATER_Z_CONFIGMAP", "11", "main"), env("STAKATER_NEW_SECRET", "11", "bare"),
			env(mark.HashEnv, "", "main"), env("FABRIC8_ALL_CONFIGMAP", "11"),
			{Place: mark.Place{Env: "STAKATER_GONE_SECRET"}, Remove: true},
			{Place: mark.Place{Annotation: "wave.pusher.com/config-hash"}, Value: "11"},
		},
	}
	taken := mark.Roll{Hash: "t", Marks: []mark.Mark{env("STAKATER_FROM_CONFIGMAP", "11", "aside")}}
	client, err := dynamic.NewForConfig(cluster.RESTConfig())
	line.Must(t, err)
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	c := connect(t, cluster.Kubeconfig())
	for name, spec := range inPlace {
		t.Run(name, func(t *testing.T) {
			kind, _ := workload.KindNamed(name)
			if kind.Optional {
				serve(t, crds, "../testdata/crds/"+kind.Resource.Resource+"."+kind.Resource.Group+".yaml")
			}
			namespace := cluster.Namespace(t)
			objects := client.Resource(kind.Resource).Namespace(namespace)
			object := &unstructured.Unstructured{}
			body := `{"kind":"` + name + `","apiVersion":"` + kind.Resource.GroupVersion().String() +
				`","metadata":{"name":"web","annotations":{"old":"x","team":"shop"}},"spec":` + spec + `}`
			line.Must(t, object.UnmarshalJSON([]byte(body)))
			eventually(t, "the kind is served", func() bool {
				_, err := objects.Create(t.Context(), object, metav1.CreateOptions{})
				return err == nil
			})
			live := func() (*workload.Workload, []byte) {
				w := read(t, c, name, namespace, "web")
				object, err := objects.Get(t.Context(), "web", metav1.GetOptions{})
				line.Must(t, err)
				data, err := object.MarshalJSON()
				line.Must(t, err)
				return w, data
			}
			var before *workload.Workload
			eventually(t, "a roll that no other write came before", func() bool {
				w, data := live()
				want, err := mark.Apply(w, data, roll)
				if errors.Is(err, mark.ErrMoved) {
					return false
				}
				line.Must(t, err)
				rolled, err := c.Roll(t.Context(), w, roll)
				if apierrors.IsConflict(err) {
					return false
				}
				line.Must(t, err)
				before = w
				_, got := live()
				if diff := cmp.Diff(plain(t, want), plain(t, got)); diff != "" {
					t.Errorf("Apply and the API server differ (-Apply +server):\n%s", diff)
				}
				ours := func(e metav1.ManagedFieldsEntry) bool {
					return e.Manager == workload.MarkManager && strings.Contains(e.FieldsV1.GetRawString(), "f:reroll.dev/applied")
				}
				if managers := decode(t, got).Metadata.ManagedFields; !slices.ContainsFunc(managers, ours) {
					t.Errorf("the roll is not written by %s: %v", workload.MarkManager, managers)
				}
				if rolled.ResourceVersion == w.ResourceVersion || rolled.Template.Annotations[mark.HashKey] != "h" {
					t.Errorf("Roll returns %+v", rolled)
				}
				return true
			})
			if _, err := c.Roll(t.Context(), before, roll); !apierrors.IsConflict(err) {
				t.Errorf("the same roll again: %v, want a conflict", err)
			}
			eventually(t, "refusals of the current version", func() bool {
				w, _ := live()
				_, err := c.Roll(t.Context(), w, taken)
				if apierrors.IsConflict(err) {
					return false
				}
				if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "valueFrom") {
					t.Errorf("a variable with a valueFrom: %v", err)
				}
				w.UID = "11111111-1111-1111-1111-111111111111"
				if _, err := c.Roll(t.Context(), w, roll); !apierrors.IsConflict(err) {
					t.Errorf("a roll of another object of the current version: %v, want a conflict", err)
				}
				return true
			})
		})
	}
}

// serve has the API server serve the resource of a file. On a shared control plane another package may have done so.
func serve(t *testing.T, crds dynamic.ResourceInterface, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	line.Must(t, err)
	crd := &unstructured.Unstructured{}
	line.Must(t, yaml.Unmarshal(data, &crd.Object))
	if _, err = crds.Create(t.Context(), crd, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		return
	}
	line.Must(t, err)
	t.Cleanup(func() {
		if err := crds.Delete(context.WithoutCancel(t.Context()), crd.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// decoded is what is compared of an object.
type decoded struct {
	Metadata metav1.ObjectMeta
	Spec     map[string]any
}

func decode(t *testing.T, data []byte) (o decoded) {
	t.Helper()
	line.Must(t, json.Unmarshal(data, &o))
	return o
}

// plain returns an object without what every write and its controllers change.
func plain(t *testing.T, data []byte) map[string]any {
	t.Helper()
	o := decode(t, data)
	meta := o.Metadata
	for _, key := range []string{appsv1.DeprecatedTemplateGeneration, "deployment.kubernetes.io/revision"} {
		delete(meta.Annotations, key)
	}
	return map[string]any{"annotations": meta.Annotations, "uid": meta.UID, "spec": o.Spec}
}
