package world

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// Options say what is particular about a world. The zero value suits a Reroll with the defaults of its flags.
type Options struct {
	// Namespaces are real ones by the name that the scenario gives them. For others, new ones are made.
	Namespaces map[string]string
	// Restart starts Reroll again for scenarios that stop it; nil if it cannot be stopped.
	Restart func(context.Context) error
	// Pods says that everything has come to an end only when the controllers of Deployments are done as well.
	Pods bool
}

// World is a scenario's cluster.
type World struct {
	t       *testing.T
	line    *line.Line
	client  dynamic.Interface
	options Options

	mu         sync.Mutex
	namespaces map[string]string
	// since has, by namespace, the version of the list of its Jobs at the beginning.
	since map[string]string
	// kinds are those of the objects that were created.
	kinds map[string]bool
}

// New returns a world of a test's own. Its workloads are deleted when the test ends.
func New(t *testing.T, l *line.Line, o Options) *World {
	t.Helper()
	client, err := dynamic.NewForConfig(l.Kube.RESTConfig())
	line.Must(t, err)
	w := &World{t: t, line: l, client: client, options: o, namespaces: map[string]string{}, since: map[string]string{}, kinds: map[string]bool{}}
	t.Cleanup(w.clear)
	return w
}

// clear deletes the workloads, so that the process need not follow them any longer.
func (w *World) clear() {
	for namespace, name := range w.namespaces {
		for kind := range w.kinds {
			if !scenario.NewRef(kind, namespace, "any").Workload() {
				continue
			}
			err := w.in(kind, namespace).DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{})
			if err != nil {
				w.t.Logf("delete all %s in %s: %v", kind, name, err)
			}
		}
	}
}

// Namespace returns the real name of a scenario's namespace, which is made when it is first needed.
func (w *World) Namespace(name string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.namespaces[name] == "" {
		if w.namespaces[name] = w.options.Namespaces[name]; w.namespaces[name] == "" {
			w.namespaces[name] = w.line.Kube.Namespace(w.t)
		}
		list, err := w.client.Resource(scenario.Resource("Job")).Namespace(w.namespaces[name]).List(w.t.Context(), metav1.ListOptions{Limit: 1})
		line.Must(w.t, err)
		w.since[name] = list.GetResourceVersion()
	}
	return w.namespaces[name]
}

// in returns where objects of a kind live in a scenario's namespace.
func (w *World) in(kind, namespace string) dynamic.ResourceInterface {
	return w.client.Resource(scenario.Resource(kind)).Namespace(w.Namespace(namespace))
}

// namespaceWord stands for the real name of an object's namespace wherever it is in the object.
const namespaceWord = "{namespace}"

// named replaces the words for namespaces in an object of one of them by their real names.
func (w *World) named(namespace string, object []byte) []byte {
	object = bytes.ReplaceAll(object, []byte(namespaceWord), []byte(namespace))
	return scenario.NamespaceWord.ReplaceAllFunc(object, func(word []byte) []byte {
		return []byte(w.Namespace(string(scenario.NamespaceWord.FindSubmatch(word)[1])))
	})
}

// object returns obj as it is sent, in the real namespace.
func (w *World) object(obj scenario.Typed) (dynamic.ResourceInterface, *unstructured.Unstructured, error) {
	kind, namespace := obj.GetObjectKind().GroupVersionKind().Kind, obj.GetNamespace()
	where := w.in(kind, namespace)
	obj.SetNamespace(w.Namespace(namespace))
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, nil, err
	}
	data, err := json.Marshal(content)
	if err != nil {
		return nil, nil, err
	}
	sent := &unstructured.Unstructured{}
	return where, sent, sent.UnmarshalJSON(w.named(obj.GetNamespace(), data))
}

func (w *World) target(ref scenario.Ref) (dynamic.ResourceInterface, string, error) {
	kind, namespace, name, err := ref.Split()
	if err != nil {
		return nil, "", err
	}
	return w.in(kind, namespace), name, nil
}

// Create creates an object.
func (w *World) Create(ctx context.Context, obj scenario.Typed) error {
	where, content, err := w.object(obj)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.kinds[content.GetKind()] = true
	w.mu.Unlock()
	_, err = where.Create(ctx, content, metav1.CreateOptions{})
	return err
}

// Update replaces an object, whatever its resource version.
func (w *World) Update(ctx context.Context, obj scenario.Typed) (raised int64, err error) {
	where, content, err := w.object(obj)
	if err != nil {
		return 0, err
	}
	live, err := where.Get(ctx, obj.GetName(), metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	content.SetResourceVersion(live.GetResourceVersion())
	updated, err := where.Update(ctx, content, metav1.UpdateOptions{})
	return raise(live, updated), err
}

// raise returns by how much one write raised the generation of an object, which is at most one; the other is what was written in between.
// The number of Jobs that stands for one is raised by none.
func raise(before, after *unstructured.Unstructured) int64 {
	if before == nil || after == nil || after.GetKind() == "CronJob" || after.GetKind() == "Job" {
		return 0
	}
	return min(1, after.GetGeneration()-before.GetGeneration())
}

// Patch patches an object.
func (w *World) Patch(ctx context.Context, ref scenario.Ref, as types.PatchType, body []byte) (raised int64, err error) {
	if !ref.Workload() {
		_, err = w.patch(ctx, ref, as, body)
		return 0, err
	}
	err = retry.RetryOnConflict(busy, func() error {
		before, err := w.get(ctx, ref)
		if err != nil {
			return err
		}
		if before != nil && as == types.MergePatchType {
			// The patch is taken only by an object of this resource version.
			body, err = jsonpatch.MergeMergePatches(body, fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q}}`, before.GetResourceVersion()))
			if err != nil {
				return err
			}
		}
		after, err := w.patch(ctx, ref, as, body)
		raised = raise(before, after)
		return err
	})
	return raised, err
}

// busy is how often a write of a workload is tried that others write as well.
var busy = wait.Backoff{Steps: 50, Duration: 10 * time.Millisecond, Jitter: 0.5}

// PatchStatus patches the status of an object.
func (w *World) PatchStatus(ctx context.Context, ref scenario.Ref, as types.PatchType, body []byte) error {
	_, err := w.patch(ctx, ref, as, body, "status")
	return err
}

func (w *World) patch(
	ctx context.Context, ref scenario.Ref, as types.PatchType, body []byte, subresources ...string,
) (*unstructured.Unstructured, error) {
	where, name, err := w.target(ref)
	if err != nil {
		return nil, err
	}
	_, namespace, _, _ := ref.Split() // target has found it
	body = w.named(w.Namespace(namespace), body)
	options := metav1.PatchOptions{FieldManager: "scenario"}
	if as == types.ApplyPatchType {
		force := true
		options.Force = &force
	}
	return where.Patch(ctx, name, as, body, options, subresources...)
}

// Delete deletes an object.
func (w *World) Delete(ctx context.Context, ref scenario.Ref) error {
	where, name, err := w.target(ref)
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	return where.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
}

// Quiesce returns when Reroll has nothing in flight in the scenario's namespaces.
func (w *World) Quiesce(ctx context.Context) error {
	w.mu.Lock()
	namespaces := slices.Sorted(maps.Values(w.namespaces))
	w.mu.Unlock()
	for _, namespace := range namespaces {
		if err := w.line.Barrier(ctx, namespace); err != nil {
			return err
		}
		if w.options.Pods {
			if _, err := w.line.Kube.Kubectl(ctx, "rollout", "status", "deployment", "--namespace="+namespace, "--timeout="+startTime.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// get returns an object; nil if it does not exist.
func (w *World) get(ctx context.Context, ref scenario.Ref) (*unstructured.Unstructured, error) {
	where, name, err := w.target(ref)
	if err != nil {
		return nil, err
	}
	live, err := where.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// Generation returns the generation of a workload, or the number of Jobs that stands for it.
func (w *World) Generation(ctx context.Context, ref scenario.Ref) (int64, error) {
	live, err := w.get(ctx, ref)
	if err != nil || live == nil {
		return 0, err
	}
	switch live.GetKind() {
	case "CronJob":
		jobs, err := w.jobsOf(ctx, ref)
		return int64(1 + len(jobs)), err
	case "Job":
		return w.births(ctx, ref, live)
	}
	return live.GetGeneration(), nil
}
