package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/reroll-dev/reroll/reloader"
)

// census is what the API server had of the workloads of a namespace: the resource version of each, and of the list of each kind.
type census struct {
	namespace string
	versions  map[reloader.WorkloadRef]string
	lists     map[string]string
}

// Unseen lists the metadata of the workloads of a namespace, and returns a call that says which of them Watch has not handed on yet as they were
// then. A namespace that Watch leaves out has none.
func (c *Cluster) Unseen(ctx context.Context, namespace string) (func() []reloader.WorkloadRef, error) {
	w := c.watcher.Load()
	if w == nil || !c.options.Scope.covers(namespace) {
		return func() []reloader.WorkloadRef { return nil }, nil
	}
	now := census{namespace: namespace, versions: map[reloader.WorkloadRef]string{}, lists: map[string]string{}}
	for _, kind := range c.options.Scope.kinds() {
		list := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			page, err := c.metadata.Resource(kind.Resource).Namespace(namespace).List(ctx, o)
			if err == nil {
				now.lists[kind.Kind] = page.ResourceVersion // that of the first page, also on the others
			}
			return page, err
		}
		err := each(ctx, list, metav1.ListOptions{}, func(o *metav1.PartialObjectMetadata) error {
			now.versions[reloader.WorkloadRef{Kind: kind.Kind, Namespace: namespace, Name: o.Name}] = o.ResourceVersion
			return nil
		})
		if err != nil && !(kind.Optional && (apierrors.IsNotFound(err) || apierrors.IsForbidden(err))) {
			return nil, fmt.Errorf("list %s: %w", kind.Resource.Resource, err)
		}
	}
	return func() []reloader.WorkloadRef { return w.behind(now) }, nil
}

// behind returns the workloads that were handled in an earlier version than a census has, or exist although they do not there, sorted.
func (w *watcher) behind(now census) (late []reloader.WorkloadRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ref, version := range now.versions {
		if known := w.handled[ref]; known == "" || newer(version, known) {
			late = append(late, ref)
		}
	}
	for ref, known := range w.handled {
		at, listed := now.lists[ref.Kind]
		if _, there := now.versions[ref]; ref.Namespace == now.namespace && listed && !there && newer(at, known) {
			late = append(late, ref)
		}
	}
	slices.SortFunc(late, func(a, b reloader.WorkloadRef) int { return strings.Compare(a.String(), b.String()) })
	return late
}

func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}
