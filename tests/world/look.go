package world

import (
	"context"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// Look returns what must be seen where a Sight looks.
func (w *World) Look(ctx context.Context, at scenario.Sight) ([]map[string]any, error) {
	switch {
	case at.Object != "":
		live, err := w.get(ctx, at.Object)
		if err != nil || live == nil {
			return nil, err
		}
		return []map[string]any{live.Object}, nil
	case at.Jobs != "":
		jobs, err := w.jobsOf(ctx, at.Jobs)
		found := make([]map[string]any, 0, len(jobs))
		for _, job := range jobs {
			found = append(found, job.Object)
		}
		return found, err
	case at.Events != "":
		return w.eventsOn(ctx, at.Events)
	}
	return w.reloadsOf(ctx, at.Reloads)
}

var events = schema.GroupVersionResource{Version: "v1", Resource: "events"}

func (w *World) eventsOn(ctx context.Context, ref scenario.Ref) ([]map[string]any, error) {
	kind, namespace, name, err := ref.Split()
	if err != nil {
		return nil, err
	}
	list, err := w.client.Resource(events).Namespace(w.Namespace(namespace)).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.kind=" + kind + ",involvedObject.name=" + name,
	})
	if err != nil {
		return nil, err
	}
	found := make([]map[string]any, 0, len(list.Items))
	for _, event := range list.Items {
		found = append(found, event.Object)
	}
	return found, nil
}

func (w *World) reloadsOf(ctx context.Context, ref scenario.Ref) ([]map[string]any, error) {
	kind, namespace, name, err := ref.Split()
	if err != nil {
		return nil, err
	}
	query := url.Values{"namespace": {w.Namespace(namespace)}, "kind": {kind}, "name": {name}, "limit": {"500"}}
	var page struct {
		Items []map[string]any `json:"items"`
	}
	err = w.line.Reroll.Get(ctx, "/api/v1/reloads?"+query.Encode(), &page)
	return page.Items, err
}

// Template returns the pod template of a workload.
func (w *World) Template(ctx context.Context, ref scenario.Ref) (*corev1.PodTemplateSpec, error) {
	live, err := w.get(ctx, ref)
	if err != nil {
		return nil, err
	}
	if live == nil {
		return nil, fmt.Errorf("%s does not exist", ref)
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
