package kube

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Read reads one workload from the API server, joined with the object whose pod template it runs, if there is one.
func (c *Cluster) Read(ctx context.Context, ref reloader.WorkloadRef) (*workload.Workload, error) {
	w, err := c.readAlone(ctx, ref)
	if err != nil || w.TemplateOf == nil {
		return w, err
	}
	via, err := c.readAlone(ctx, *w.TemplateOf)
	if apierrors.IsNotFound(err) {
		return w, nil
	}
	if err != nil {
		return nil, err
	}
	return w.Through(via), nil
}

// readAlone reads one workload as it is.
func (c *Cluster) readAlone(ctx context.Context, ref reloader.WorkloadRef) (*workload.Workload, error) {
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
	return kind.Strip(obj, c.options.KeepAnnotation)
}

// restClientOf serves a kind that is not optional.
func (c *Cluster) restClientOf(kind workload.Kind) rest.Interface {
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

// maxPods is how many pods of a workload are read. With more, it is unknown what all of them run with.
const maxPods = 500

// Pods returns the pods of w, read from the API server.
func (c *Cluster) Pods(ctx context.Context, w *workload.Workload) (workload.Pods, error) {
	if w.Selector == nil {
		return workload.Pods{}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	if err != nil {
		return workload.Pods{}, fmt.Errorf("selector of %s: %w", w.Ref(), err)
	}
	if selector.Empty() {
		return workload.Pods{}, nil // it selects the pods of others, too
	}
	list, err := c.client.CoreV1().Pods(w.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String(), Limit: maxPods})
	if err != nil {
		return workload.Pods{}, err
	}
	pods := workload.Pods{Known: list.Continue == ""}
	for i := range list.Items {
		pods.Of = append(pods.Of, w.PodOf(&list.Items[i]))
	}
	return pods, nil
}
