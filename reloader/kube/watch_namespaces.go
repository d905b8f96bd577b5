package kube

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// watchNamespaces admits to r the namespaces whose labels are selected, until ctx ends. It returns when all that exist are. The API
// server selects: to the informer a namespace that stops to match is one that is gone.
func (c *Cluster) watchNamespaces(ctx context.Context, r *roster) error {
	r.selective()
	selector := c.options.Scope.NamespaceSelector.String()
	informer := metadatainformer.NewFilteredMetadataInformer(c.metadata, namespaces, metav1.NamespaceAll, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = selector }).Informer()
	if err := informer.SetTransform(nameOnly); err != nil {
		return fmt.Errorf("watch namespaces: %w", err)
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { r.admit(obj.(*metav1.PartialObjectMetadata).Name) },
		DeleteFunc: func(obj any) {
			if ns, ok := lastState(obj).(*metav1.PartialObjectMetadata); ok {
				r.expel(ns.Name)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watch namespaces: %w", err)
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return fmt.Errorf("watch namespaces: %w", context.Cause(ctx))
	}
	return nil
}

// nameOnly keeps of a namespace what the informer and the roster need.
func nameOnly(obj any) (any, error) {
	ns, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: ns.Name, UID: ns.UID, ResourceVersion: ns.ResourceVersion}}, nil
}
