package world

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

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

// births returns how often a Job was created, up to and including live: a watch sees also those that lived for a moment.
func (w *World) births(ctx context.Context, ref scenario.Ref, live *unstructured.Unstructured) (int64, error) {
	_, namespace, _, err := ref.Split()
	if err != nil {
		return 0, err
	}
	where := w.in("Job", namespace)
	events, err := where.Watch(ctx, metav1.ListOptions{ResourceVersion: w.since[namespace], FieldSelector: "metadata.name=" + live.GetName()})
	if err != nil {
		return 0, err
	}
	defer events.Stop()
	seen := map[types.UID]bool{}
	for e := range events.ResultChan() {
		job, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			return 0, fmt.Errorf("watch of %s: %v", ref, e.Object)
		}
		if seen[job.GetUID()] = true; job.GetResourceVersion() == live.GetResourceVersion() {
			return int64(len(seen)), nil
		}
	}
	return 0, fmt.Errorf("the watch of %s ended", ref)
}

// Stop ends Reroll.
func (w *World) Stop(ctx context.Context) error { return w.line.Reroll.Terminate(ctx) }

// Kill ends Reroll without warning.
func (w *World) Kill(context.Context) error {
	w.line.Reroll.Kill()
	return nil
}

// Start starts Reroll again and returns when it is ready.
func (w *World) Start(ctx context.Context) error {
	if w.options.Restart == nil {
		return fmt.Errorf("this world's reroll is not its own")
	}
	return w.options.Restart(ctx)
}

// jobsOf returns the Jobs that a CronJob controls.
func (w *World) jobsOf(ctx context.Context, ref scenario.Ref) ([]unstructured.Unstructured, error) {
	_, namespace, name, err := ref.Split()
	if err != nil {
		return nil, err
	}
	list, err := w.in("Job", namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(job unstructured.Unstructured) bool {
		owner := metav1.GetControllerOf(&job)
		return owner == nil || owner.Kind != "CronJob" || owner.Name != name
	}), nil
}
