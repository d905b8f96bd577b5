package kube

import (
	"context"
	"fmt"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// metadataInformer watches the metadata of a resource, as far as it is in scope.
func (c *connection) metadataInformer(resource schema.GroupVersionResource, namespace string, narrow func(*metav1.ListOptions)) cache.SharedIndexInformer {
	return metadatainformer.NewFilteredMetadataInformer(c.metadata, resource, namespace, 0, cache.Indexers{}, narrow).Informer()
}

// objects is the client of one resource.
type objects[List runtime.Object] interface {
	List(ctx context.Context, o metav1.ListOptions) (List, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
}

// listWatch lists and watches the objects of a resource by client, as far as narrow lets it.
func listWatch[List runtime.Object](of objects[List], client any, narrow func(*metav1.ListOptions) error) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if err := narrow(&o); err != nil {
				return nil, err
			}
			return of.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if err := narrow(&o); err != nil {
				return nil, err
			}
			return of.Watch(ctx, o)
		},
	}, client)
}

// workloads lists and watches the objects of a kind. Where the API server may lack the kind it asks discovery first: the chart grants rights on such a
// kind only where it is served, and elsewhere a request for its objects is refused instead of not found. Importing client-go's informers instead would
// link those of all resources of Kubernetes.
func (c *connection) workloads(kind workload.Kind, namespace string) (cache.ListerWatcher, runtime.Object) {
	narrow := func(o *metav1.ListOptions) error {
		if c.options.Scope.narrow(o); kind.Optional && !c.serves(kind) {
			return apierrors.NewNotFound(kind.Resource.GroupResource(), "")
		}
		return nil
	}
	switch kind.Kind {
	case workload.Deployment.Kind:
		return listWatch(c.client.AppsV1().Deployments(namespace), c.client, narrow), &appsv1.Deployment{}
	case workload.StatefulSet.Kind:
		return listWatch(c.client.AppsV1().StatefulSets(namespace), c.client, narrow), &appsv1.StatefulSet{}
	case workload.DaemonSet.Kind:
		return listWatch(c.client.AppsV1().DaemonSets(namespace), c.client, narrow), &appsv1.DaemonSet{}
	case workload.CronJob.Kind:
		return listWatch(c.client.BatchV1().CronJobs(namespace), c.client, narrow), &batchv1.CronJob{}
	case workload.Job.Kind:
		return listWatch(c.client.BatchV1().Jobs(namespace), c.client, narrow), &batchv1.Job{}
	}
	return listWatch(c.dynamic.Resource(kind.Resource).Namespace(namespace), c.dynamic, narrow), &unstructured.Unstructured{}
}

// feed has an informer, which must not run yet, strip what it caches and report it to a handler. Has reports whether the handler has had all that
// existed. If the resource may be absent, failed reports whether listing or watching it has ever failed; the first failure other than that it
// is not served is logged with its name.
func (c *connection) feed(
	informer cache.SharedIndexInformer, strip cache.TransformFunc, handler cache.ResourceEventHandler, mayBeAbsent bool, resource string,
) (has, failed cache.InformerSynced, err error) {
	if err := informer.SetTransform(strip); err != nil {
		return nil, nil, err
	}
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return nil, nil, err
	}
	var failing atomic.Bool
	if mayBeAbsent {
		err = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
			switch first := !failing.Swap(true); {
			case apierrors.IsNotFound(err):
			case first && !registration.HasSynced():
				c.options.Logger.Warn("not watched yet, and tried again: grant list and watch", "resource", resource, "error", err)
			default:
				cache.DefaultWatchErrorHandler(ctx, r, err)
			}
		})
	}
	return registration.HasSynced, failing.Load, err
}

// follow reports the metadata of what an informer watches to a handler until ctx ends. It returns once all that existed was reported.
func (c *connection) follow(ctx context.Context, what string, informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) error {
	has, _, err := c.feed(informer, slimMeta(reloader.ConfigMap), handler, false, what)
	if err != nil {
		return fmt.Errorf("watch %s: %w", what, err)
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), has) {
		return fmt.Errorf("watch %s: %w", what, context.Cause(ctx))
	}
	return nil
}

// on returns a handler that calls report for every object that an event is about, and says whether it is deleted.
func on[T any](report func(o T, deleted bool)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { report(obj.(T), false) }, UpdateFunc: func(_, obj any) { report(obj.(T), false) },
		DeleteFunc: func(obj any) {
			if o, ok := last[T](obj); ok {
				report(o, true)
			}
		},
	}
}

// last returns a deleted object as it was last seen.
func last[T any](obj any) (o T, ok bool) {
	if unknown, is := obj.(cache.DeletedFinalStateUnknown); is {
		obj = unknown.Obj
	}
	o, ok = obj.(T)
	return o, ok
}

// slimMeta returns what keeps of the metadata of a kind the name and version. Its GenerateName is the manager that wrote the content, and its
// CreationTimestamp when: an entry of ManagedFields would be as large as all the rest.
func slimMeta(kind reloader.ConfigKind) cache.TransformFunc {
	return func(obj any) (any, error) {
		o := obj.(*metav1.PartialObjectMetadata)
		manager, at := dataManager(kind, o.ManagedFields)
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: o.Name, Namespace: o.Namespace, UID: o.UID, ResourceVersion: o.ResourceVersion, GenerateName: manager, CreationTimestamp: metav1.NewTime(at),
		}}, nil
	}
}
