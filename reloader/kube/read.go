package kube

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Read reads one workload, joined with the object whose pod template it runs, if there is one.
func (c *Cluster) Read(ctx context.Context, ref reloader.WorkloadRef) (*workload.Workload, error) {
	kind, err := kindOf(ref.Kind)
	if err != nil {
		return nil, err
	}
	var obj runtime.Object
	if kind.Optional {
		obj, err = c.dynamic.Resource(kind.Resource).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	} else {
		obj, err = c.restClientOf(kind).Get().Namespace(ref.Namespace).Resource(kind.Resource.Resource).Name(ref.Name).Do(ctx).Get()
	}
	if err != nil {
		return nil, err
	}
	w, err := kind.Strip(obj, c.options.KeepAnnotation)
	if err != nil || w.TemplateOf == nil {
		return w, err
	}
	via, err := c.Read(ctx, *w.TemplateOf)
	if apierrors.IsNotFound(err) {
		return w, nil
	}
	if err != nil {
		return nil, err
	}
	return w.Through(via), nil
}

// restClientOf serves a kind that is not optional.
func (c *connection) restClientOf(kind workload.Kind) rest.Interface {
	if kind.Resource.Group == batchv1.GroupName {
		return c.client.BatchV1().RESTClient()
	}
	return c.client.AppsV1().RESTClient()
}

func kindOf(name string) (workload.Kind, error) {
	kind, ok := workload.KindNamed(name)
	if !ok {
		return workload.Kind{}, fmt.Errorf("no such kind of workload: %s", name)
	}
	return kind, nil
}

// workloadPage is how many workloads one request of Workloads asks for: they come whole, and are stripped one by one.
const workloadPage = 100

// Workloads calls visit for every workload in scope, kind by kind, until visit fails, and returns the resources that may not be listed. It
// leaves out objects that cannot be read and kinds that the API server does not serve. A workload that runs another object's template comes
// joined with it.
func (c *Cluster) Workloads(ctx context.Context, visit func(*workload.Workload) error) (hidden []string, err error) {
	for _, kind := range c.options.Scope.kinds() {
		for _, namespace := range c.options.Scope.namespaces() {
			objects, _ := c.workloads(kind, namespace)
			list := cache.ToListerWatcherWithContext(objects).ListWithContext
			err := each(ctx, list, metav1.ListOptions{Limit: workloadPage}, func(obj runtime.Object) error {
				w, err := kind.Strip(obj, c.options.KeepAnnotation)
				if err != nil {
					return nil // an object that cannot be read asks for nothing
				}
				if ref := w.Ref(); w.TemplateOf != nil {
					if w, err = c.Read(ctx, ref); err != nil {
						return fmt.Errorf("read %s: %w", ref, err)
					}
				}
				return visit(w)
			})
			switch {
			case err == nil || kind.Optional && apierrors.IsNotFound(err):
			case apierrors.IsForbidden(err):
				hidden = append(hidden, kind.Resource.Resource)
			default:
				return hidden, fmt.Errorf("list %s: %w", kind.Resource.Resource, err)
			}
		}
	}
	return hidden, nil
}

// serves reports whether the API server serves an optional kind, or may: listing a resource that does not exist is refused, too.
func (c *connection) serves(kind workload.Kind) bool {
	found, err := c.client.Discovery().ServerResourcesForGroupVersion(kind.Resource.GroupVersion().String())
	if err != nil {
		return !apierrors.IsNotFound(err)
	}
	return slices.ContainsFunc(found.APIResources, func(r metav1.APIResource) bool { return r.Name == kind.Resource.Resource })
}

// maxPods is how many pods of a workload are read. With more, it is unknown what all of them run with.
const maxPods = 500

// Pods returns the pods of w, read from the API server.
func (c *Cluster) Pods(ctx context.Context, w *workload.Workload) (workload.Pods, error) {
	if w.Selector == "" {
		return workload.Pods{}, nil
	}
	list, err := c.client.CoreV1().Pods(w.Namespace).List(ctx, metav1.ListOptions{LabelSelector: w.Selector, Limit: maxPods})
	if err != nil {
		return workload.Pods{}, err
	}
	pods := workload.Pods{Known: list.Continue == ""}
	for i := range list.Items {
		pods.Of = append(pods.Of, w.PodOf(&list.Items[i]))
	}
	return pods, nil
}
