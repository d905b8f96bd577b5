package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	r := c.roster.Load()
	if r == nil || !c.options.Scope.covers(namespace) {
		return func() []reloader.WorkloadRef { return nil }, nil
	}
	now := census{namespace: namespace, versions: map[reloader.WorkloadRef]string{}, lists: map[string]string{}}
	var mu sync.Mutex
	var lists errgroup.Group
	for _, kind := range append(c.options.Scope.kinds(false), c.options.Scope.kinds(true)...) {
		lists.Go(func() error {
			options := metav1.ListOptions{Limit: listPage}
			for {
				page, err := c.metadata.Resource(kind.Resource).Namespace(namespace).List(ctx, options)
				if kind.Optional && (notThere(err) || apierrors.IsForbidden(err)) {
					return nil
				}
				if err != nil {
					return fmt.Errorf("list %s: %w", kind.Resource.Resource, err)
				}
				mu.Lock()
				now.lists[kind.Kind] = page.ResourceVersion
				for _, o := range page.Items {
					now.versions[reloader.WorkloadRef{Kind: kind.Kind, Namespace: namespace, Name: o.Name}] = o.ResourceVersion
				}
				mu.Unlock()
				if options.Continue = page.Continue; options.Continue == "" {
					return nil
				}
			}
		})
	}
	if err := lists.Wait(); err != nil {
		return nil, err
	}
	return func() []reloader.WorkloadRef { return r.behind(now) }, nil
}

// behind returns the workloads that r has in an earlier version than a census, or has although they were gone, sorted.
func (r *roster) behind(now census) (late []reloader.WorkloadRef) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.known[now.namespace]
	for ref, version := range now.versions {
		if w := known[ref]; w == nil || newer(version, w.ResourceVersion) {
			late = append(late, ref)
		}
	}
	for ref, w := range known {
		at, listed := now.lists[ref.Kind]
		if _, there := now.versions[ref]; listed && !there && newer(at, w.ResourceVersion) {
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
