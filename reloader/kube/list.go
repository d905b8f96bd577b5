package kube

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// workloadPage is how many workloads one request of Workloads asks for: they come whole, and are stripped one by one.
const workloadPage = 100

// Workloads calls visit once for every workload in scope, kind by kind, until visit fails, and returns the resources that may not be listed.
// Objects that cannot be read are left out, and so are kinds that the API server does not serve. A workload that runs another object's template
// comes joined with it.
func (c *Cluster) Workloads(ctx context.Context, visit func(*workload.Workload) error) (hidden []string, err error) {
	for _, kind := range append(c.options.Scope.kinds(false), c.options.Scope.kinds(true)...) {
		for _, namespace := range c.options.Scope.namespaces() {
			err := c.workloadsOf(ctx, kind, namespace, visit)
			switch {
			case err == nil || kind.Optional && notThere(err):
			case apierrors.IsForbidden(err):
				if !kind.Optional || c.serves(kind) {
					hidden = append(hidden, kind.Resource.Resource)
				}
			default:
				return hidden, fmt.Errorf("list %s: %w", kind.Resource.Resource, err)
			}
		}
	}
	return hidden, nil
}

// serves reports whether the API server has a kind that it may lack, or may have it: who may not list what is not there is refused all the same.
func (c *Cluster) serves(kind workload.Kind) bool {
	found, err := c.client.Discovery().ServerResourcesForGroupVersion(kind.Resource.GroupVersion().String())
	if err != nil {
		return !notThere(err)
	}
	return slices.ContainsFunc(found.APIResources, func(r metav1.APIResource) bool { return r.Name == kind.Resource.Resource })
}

func (c *Cluster) workloadsOf(ctx context.Context, kind workload.Kind, namespace string, visit func(*workload.Workload) error) error {
	options := metav1.ListOptions{Limit: workloadPage}
	for {
		page, next, err := c.workloadsPage(ctx, kind, namespace, options)
		if err != nil {
			return err
		}
		err = meta.EachListItem(page, func(obj runtime.Object) error {
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
		if err != nil {
			return err
		}
		if options.Continue = next; next == "" {
			return nil
		}
	}
}

func (c *Cluster) workloadsPage(ctx context.Context, kind workload.Kind, namespace string, o metav1.ListOptions) (page runtime.Object, next string, err error) {
	if kind.Optional {
		list, err := c.dynamic.Resource(kind.Resource).Namespace(namespace).List(ctx, o)
		if err != nil {
			return nil, "", err
		}
		return list, list.GetContinue(), nil
	}
	page, err = c.restClientOf(kind).Get().Namespace(namespace).Resource(kind.Resource.Resource).VersionedParams(&o, scheme.ParameterCodec).Do(ctx).Get()
	if err != nil {
		return nil, "", err
	}
	m, err := meta.ListAccessor(page)
	if err != nil {
		return nil, "", err
	}
	return page, m.GetContinue(), nil
}
