package kube

import (
	"bytes"
	"context"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/reroll-dev/reroll/reloader"
)

// classesRefused is the warning that no watch covers rotations.
const classesRefused = "SecretProviderClasses are not watched; list and watch on secretproviderclasspodstatuses must be granted, and until then a rotation waits for another source or for the next sweep"

// watchClasses calls touched when the Secrets Store CSI driver may have rotated what a pod has mounted. Metadata does not say which class
// a PodStatus is about, so the touch is about every class of the namespace, like the hint of an audit event.
//
// The driver may be absent, or its resources refused. Neither holds up the watch of ConfigMaps and Secrets: the watch of PodStatuses
// begins when it can, and then every namespace that has some is touched, because a rotation may have come before.
func (c *Cluster) watchClasses(ctx context.Context, namespace string, touched func(Touch)) (cache.InformerSynced, error) {
	informer := metadatainformer.NewFilteredMetadataInformer(c.metadata, providerPodStatuses, namespace, 0, cache.Indexers{}, c.options.Scope.narrow).Informer()
	if err := informer.SetTransform(statusWriterOnly); err != nil {
		return nil, err
	}
	var late atomic.Bool // the first list or a watch has failed
	if err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		late.Store(true)
		if apierrors.IsForbidden(err) {
			c.logger().Warn(classesRefused, "namespace", namespace, "error", err)
			return
		}
		quietlyAbsent(ctx, r, err)
	}); err != nil {
		return nil, err
	}
	tell := func(obj any) {
		if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
			classes := touchOf(reloader.SecretProviderClass, o, reloader.VerbUpdate)
			classes.Config.Name = ""
			touched(classes)
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if initial && late.Load() {
				tell(obj)
			}
		},
		UpdateFunc: func(old, obj any) {
			if !sameObject(old, obj) {
				tell(obj)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	go informer.RunWithContext(ctx)
	return func() bool { return registration.HasSynced() || late.Load() }, nil
}

// statusWriterOnly keeps of a PodStatus what an informer and a Touch need.
func statusWriterOnly(obj any) (any, error) {
	o, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	manager, at, _ := statusManager(o.ManagedFields)
	return slimMeta(o, manager, at), nil
}

// statusManager returns the field manager that last wrote a status, and when; told is false if there is none.
func statusManager(entries []metav1.ManagedFieldsEntry) (manager string, at time.Time, told bool) {
	for _, e := range entries {
		if e.Time == nil || e.FieldsV1 == nil || !bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:status"`)) {
			continue
		}
		if !told || e.Time.After(at) {
			manager, at, told = e.Manager, e.Time.UTC(), true
		}
	}
	return manager, at, told
}
