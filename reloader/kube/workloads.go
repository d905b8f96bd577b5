package kube

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Watch calls track for every workload of every kind, now and whenever one changes, and forget for each that goes away. It returns
// when all that exist were tracked, and goes on until ctx ends. What is cached is stripped first.
func (c *Cluster) Watch(ctx context.Context, track func(*workload.Workload), forget func(reloader.WorkloadRef)) error {
	factory := informers.NewSharedInformerFactory(c.client, 0)
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { track(obj.(*workload.Workload)) },
		UpdateFunc: func(_, obj any) { track(obj.(*workload.Workload)) },
		DeleteFunc: func(obj any) { forgetDeleted(obj, forget) },
	}
	var synced []cache.InformerSynced
	for _, kind := range workload.Kinds {
		informer, err := factory.ForResource(kind.Resource)
		if err != nil {
			return fmt.Errorf("watch %s: %w", kind.Resource.Resource, err)
		}
		if err := informer.Informer().SetTransform(c.strip(kind)); err != nil {
			return fmt.Errorf("watch %s: %w", kind.Resource.Resource, err)
		}
		registration, err := informer.Informer().AddEventHandler(handler)
		if err != nil {
			return fmt.Errorf("watch %s: %w", kind.Resource.Resource, err)
		}
		synced = append(synced, registration.HasSynced)
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("watch workloads: %w", context.Cause(ctx))
	}
	return nil
}

func (c *Cluster) strip(kind workload.Kind) cache.TransformFunc {
	return func(obj any) (any, error) {
		if _, ok := obj.(*workload.Workload); ok {
			return obj, nil
		}
		return kind.Strip(obj, c.options.KeepAnnotation)
	}
}

func forgetDeleted(obj any, forget func(reloader.WorkloadRef)) {
	if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	if w, ok := obj.(*workload.Workload); ok {
		forget(w.Ref())
	}
}

// Read reads one workload from the API server.
func (c *Cluster) Read(ctx context.Context, ref reloader.WorkloadRef) (*workload.Workload, error) {
	kind, err := kindOf(ref.Kind)
	if err != nil {
		return nil, err
	}
	obj, err := c.restClient().Get().Namespace(ref.Namespace).Resource(kind.Resource.Resource).Name(ref.Name).Do(ctx).Get()
	if err != nil {
		return nil, err
	}
	return kind.Strip(obj, c.options.KeepAnnotation)
}

// Patch applies a JSON patch to w under a field manager and returns w as it is then.
func (c *Cluster) Patch(ctx context.Context, w *workload.Workload, ops []strategy.Op, fieldManager string) (*workload.Workload, error) {
	kind, err := kindOf(w.Kind)
	if err != nil {
		return nil, err
	}
	body, err := strategy.Marshal(ops)
	if err != nil {
		return nil, fmt.Errorf("encode patch of %s: %w", w.Ref(), err)
	}
	var obj runtime.Object
	obj, err = c.restClient().Patch(types.JSONPatchType).Namespace(w.Namespace).Resource(kind.Resource.Resource).Name(w.Name).
		VersionedParams(&metav1.PatchOptions{FieldManager: fieldManager}, scheme.ParameterCodec).Body(body).Do(ctx).Get()
	if err != nil {
		return nil, err
	}
	return kind.Strip(obj, c.options.KeepAnnotation)
}

// restClient serves the group of all kinds of workloads.
func (c *Cluster) restClient() rest.Interface { return c.client.AppsV1().RESTClient() }

func kindOf(name string) (workload.Kind, error) {
	kind, ok := workload.KindNamed(name)
	if !ok {
		return workload.Kind{}, fmt.Errorf("no such kind of workload: %s", name)
	}
	return kind, nil
}

// StartedBy reports whether some container of w's pods started at t or before, as far as whole seconds can tell.
func (c *Cluster) StartedBy(ctx context.Context, w *workload.Workload, t time.Time) (bool, error) {
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	if err != nil {
		return false, fmt.Errorf("selector of %s: %w", w.Ref(), err)
	}
	pods, err := c.client.CoreV1().Pods(w.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return false, err
	}
	limit := t.Truncate(time.Second)
	for i := range pods.Items {
		if startedBy(&pods.Items[i], limit) {
			return true, nil
		}
	}
	return false, nil
}

func startedBy(pod *corev1.Pod, limit time.Time) bool {
	for _, s := range pod.Status.ContainerStatuses {
		if s.State.Running != nil && !s.State.Running.StartedAt.After(limit) {
			return true
		}
	}
	return false
}
