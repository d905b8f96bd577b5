package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// world is a scenario's cluster: namespaces of its own on a line.
type world struct {
	t          *testing.T
	line       *line.Line
	client     dynamic.Interface
	settings   scenario.Settings
	namespaces map[string]string
	probes     int
}

func newWorld(t *testing.T, l *line.Line, s scenario.Settings) *world {
	t.Helper()
	client, err := dynamic.NewForConfig(l.Kube.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, line: l, client: client, settings: s, namespaces: map[string]string{}}
}

// in returns where objects of a kind live in the scenario's namespace, which is made when it is first needed.
func (w *world) in(kind, namespace string) dynamic.ResourceInterface {
	if w.namespaces[namespace] == "" {
		w.namespaces[namespace] = w.line.Kube.Namespace(w.t)
	}
	resource := schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(kind) + "s"}
	if kind != "ConfigMap" && kind != "Secret" {
		resource.Group = "apps"
	}
	return w.client.Resource(resource).Namespace(w.namespaces[namespace])
}

// object returns obj as it is sent, in the real namespace.
func (w *world) object(obj scenario.Typed) (dynamic.ResourceInterface, *unstructured.Unstructured, error) {
	kind, namespace := obj.GetObjectKind().GroupVersionKind().Kind, obj.GetNamespace()
	where := w.in(kind, namespace)
	obj.SetNamespace(w.namespaces[namespace])
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	return where, &unstructured.Unstructured{Object: content}, err
}

func (w *world) target(ref scenario.Ref) (dynamic.ResourceInterface, string, error) {
	kind, namespace, name, err := ref.Split()
	if err != nil {
		return nil, "", err
	}
	return w.in(kind, namespace), name, nil
}

func (w *world) Create(ctx context.Context, obj scenario.Typed) error {
	where, content, err := w.object(obj)
	if err != nil {
		return err
	}
	_, err = where.Create(ctx, content, metav1.CreateOptions{})
	return err
}

func (w *world) Update(ctx context.Context, obj scenario.Typed) error {
	where, content, err := w.object(obj)
	if err != nil {
		return err
	}
	live, err := where.Get(ctx, obj.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	content.SetResourceVersion(live.GetResourceVersion())
	_, err = where.Update(ctx, content, metav1.UpdateOptions{})
	return err
}

func (w *world) Patch(ctx context.Context, ref scenario.Ref, as types.PatchType, body []byte) error {
	where, name, err := w.target(ref)
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: "scenario"}
	if as == types.ApplyPatchType {
		force := true
		options.Force = &force
	}
	_, err = where.Patch(ctx, name, as, body, options)
	return err
}

func (w *world) Delete(ctx context.Context, ref scenario.Ref) error {
	where, name, err := w.target(ref)
	if err != nil {
		return err
	}
	return where.Delete(ctx, name, metav1.DeleteOptions{})
}

func (w *world) Generation(ctx context.Context, ref scenario.Ref) (int64, error) {
	where, name, err := w.target(ref)
	if err != nil {
		return 0, err
	}
	obj, err := where.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return obj.GetGeneration(), nil
}

func (w *world) Template(ctx context.Context, ref scenario.Ref) (*corev1.PodTemplateSpec, error) {
	where, name, err := w.target(ref)
	if err != nil {
		return nil, err
	}
	live, err := where.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	obj, err := scenario.New(live.GetKind())
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, obj); err != nil {
		return nil, err
	}
	return scenario.Template(obj), nil
}

// sentinels are a workload of each kind, since each kind is watched by itself.
var sentinels = []string{"Deployment", "StatefulSet", "DaemonSet"}

// Quiesce makes new sentinels, waits until Reroll has a baseline for them, edits their config and waits until they have rolled:
// whatever was seen before them has been dealt with by then.
func (w *world) Quiesce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, testTime)
	defer cancel()
	for namespace := range w.namespaces {
		if err := w.probe(ctx, namespace); err != nil {
			return fmt.Errorf("quiesce: %w", err)
		}
	}
	return nil
}

func (w *world) probe(ctx context.Context, namespace string) error {
	w.probes++
	name := fmt.Sprintf("sentinel-%d", w.probes)
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"probe": "0"},
	}}
	if _, err := w.in("ConfigMap", namespace).Create(ctx, config, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, kind := range sentinels {
		if _, err := w.in(kind, namespace).Create(ctx, sentinel(kind, name), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if err := w.settled(ctx, namespace, name); err != nil {
		return err
	}
	for round := range 2 { // hints are verified in parallel: the second round begins when the first is done
		body := fmt.Appendf(nil, `{"data":{"probe":"%d"}}`, round+1)
		if _, err := w.in("ConfigMap", namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
			return err
		}
		if err := w.reloaded(ctx, namespace, name, (round+1)*len(sentinels)); err != nil {
			return err
		}
	}
	return nil
}

// sentinel returns a workload that uses the ConfigMap of its name.
func sentinel(kind, name string) *unstructured.Unstructured {
	labels := map[string]any{"app": name}
	spec := map[string]any{
		"selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec": map[string]any{"containers": []any{map[string]any{
				"name": "main", "image": "registry.example/none:1",
				"envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": name}}},
			}}},
		},
	}
	if kind == "StatefulSet" {
		spec["serviceName"] = name
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": kind, "spec": spec,
		"metadata": map[string]any{"name": name, "annotations": map[string]any{"reloader.stakater.com/auto": "true"}},
	}}
}

// settled waits until every workload of a namespace has its baselines, the sentinels among them.
func (w *world) settled(ctx context.Context, namespace, name string) error {
	return line.Poll(ctx, func(ctx context.Context) error {
		settled, open, err := w.line.Reroll.Settled(ctx, w.namespaces[namespace])
		if err != nil {
			return err
		}
		found := 0
		for _, workload := range settled {
			if workload == name {
				found++
			}
		}
		if found != len(sentinels) || open > 0 {
			return fmt.Errorf("%d of %d sentinels have a baseline, and %d workloads have not", found, len(sentinels), open)
		}
		return nil
	})
}

// reloaded waits until n reloads of the sentinels are on record; in a dry run, that is all that comes of an edit.
func (w *world) reloaded(ctx context.Context, namespace, name string, n int) error {
	return line.Poll(ctx, func(ctx context.Context) error {
		reloads, err := w.line.Reroll.Reloads(ctx, w.namespaces[namespace])
		if err != nil {
			return err
		}
		found := 0
		for _, r := range reloads {
			if r.Workload.Name == name {
				found++
			}
		}
		if found < n {
			return fmt.Errorf("%d of %d reloads of the sentinels are on record", found, n)
		}
		return nil
	})
}
