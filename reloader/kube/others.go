package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// traces are what other tools that restart workloads leave in a cluster: objects with a label.
var traces = []struct {
	resource schema.GroupVersionResource
	selector string
}{
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "provider=stakater"},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "app.kubernetes.io/name=reloader"},
	{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "reloader.stakater.com/meta-info=reloader"},
}

// OtherReloaders names objects that tell of another tool that restarts workloads when their configs change. It looks as far as it
// is permitted to.
func (c *Cluster) OtherReloaders(ctx context.Context) ([]string, error) {
	var found []string
	for _, trace := range traces {
		list, err := c.metadata.Resource(trace.resource).List(ctx, metav1.ListOptions{LabelSelector: trace.selector, Limit: 10})
		if apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return found, fmt.Errorf("list %s: %w", trace.resource.Resource, err)
		}
		for i := range list.Items {
			found = append(found, fmt.Sprintf("%s %s/%s", trace.resource.Resource, list.Items[i].Namespace, list.Items[i].Name))
		}
	}
	return found, nil
}
