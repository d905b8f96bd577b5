package kube

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
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

// StartedBy reports whether some container of w's pods started at t or before, as far as whole seconds can tell. If w does not say
// which pods are its own, some may have.
func (c *Cluster) StartedBy(ctx context.Context, w *workload.Workload, t time.Time) (bool, error) {
	limit := t.Truncate(time.Second)
	pods, known, err := c.podsOf(ctx, w)
	if err != nil || !known {
		return !known, err
	}
	return slices.ContainsFunc(pods, func(p corev1.Pod) bool { return startedBy(&p, limit) }), nil
}

// StartedAfter reports whether some container of w's pods runs, and none has started at t or before, as far as whole seconds can tell. If w
// does not say which pods are its own, some may have.
func (c *Cluster) StartedAfter(ctx context.Context, w *workload.Workload, t time.Time) (bool, error) {
	pods, _, err := c.podsOf(ctx, w) // none if w does not say
	started := func(limit time.Time) bool {
		limit = limit.Truncate(time.Second)
		return slices.ContainsFunc(pods, func(p corev1.Pod) bool { return startedBy(&p, limit) })
	}
	return err == nil && !started(t) && started(time.Now().Add(time.Minute)), err
}

// StartedBetween reports whether one of the containers of w's pods with these names runs that is certain to have started after one time and
// before another, as far as whole seconds can tell. An init container counts also once it has ended. If w does not say which pods are its
// own, nothing is certain.
func (c *Cluster) StartedBetween(ctx context.Context, w *workload.Workload, after, before time.Time, containers []string) (bool, error) {
	pods, known, err := c.podsOf(ctx, w)
	if err != nil || !known {
		return false, err
	}
	after, before = after.Truncate(time.Second), before.Truncate(time.Second)
	return slices.ContainsFunc(pods, func(p corev1.Pod) bool { return startedBetween(&p, after, before, containers) }), nil
}

// podsOf returns the pods of w, and whether w says which those are.
func (c *Cluster) podsOf(ctx context.Context, w *workload.Workload) ([]corev1.Pod, bool, error) {
	if w.Selector == nil {
		return nil, false, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	if err != nil {
		return nil, true, fmt.Errorf("selector of %s: %w", w.Ref(), err)
	}
	if selector.Empty() {
		return nil, false, nil // it selects the pods of others, too
	}
	pods, err := c.client.CoreV1().Pods(w.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, true, err
	}
	return pods.Items, true, nil
}

// startedBetween reports whether pod runs with what one of the containers with these names found, which has started in a second after one time
// and before another. A pod that is going away may be one of an earlier template. What an init container that has ended made of what it found
// is still in use.
func startedBetween(pod *corev1.Pod, after, before time.Time, containers []string) bool {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return false
	}
	within := func(name string, started time.Time) bool {
		return started.After(after) && started.Before(before) && slices.Contains(containers, name)
	}
	runs := slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil && within(s.Name, s.State.Running.StartedAt.Time)
	})
	return runs || slices.ContainsFunc(pod.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Terminated != nil && within(s.Name, s.State.Terminated.StartedAt.Time)
	})
}

// startedBy reports whether pod runs with what some container found at limit or before. An init container that has ended counts: what it
// made of the content is still in use, also by a container that was restarted since.
func startedBy(pod *corev1.Pod, limit time.Time) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return false
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if s.State.Running != nil && !s.State.Running.StartedAt.After(limit) {
			return true
		}
	}
	return slices.ContainsFunc(pod.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Terminated != nil && !s.State.Terminated.StartedAt.After(limit)
	})
}
