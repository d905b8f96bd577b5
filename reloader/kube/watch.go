package kube

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// optionalSync bounds how long Watch waits for the workloads of kinds that the API server may lack: a part of it that is down must
// not hold up all else.
const optionalSync = 30 * time.Second

// Watch calls track for every workload in scope, now and whenever something changes in it that is kept, and forget for each that goes away or out of scope.
// It returns when all that exist were tracked, and goes on until ctx ends. What is cached is stripped first. Calls come one at a
// time. A workload that runs another object's template comes joined with that object, or as it is as long as that is not known.
//
// Kinds that the API server may lack are watched from when it serves them until it does no longer.
func (c *Cluster) Watch(ctx context.Context, track func(*workload.Workload), forget func(reloader.WorkloadRef)) error {
	r := newRoster(track, forget)
	c.roster.Store(r)
	if c.options.Scope.selects() {
		if err := c.watchNamespaces(ctx, r); err != nil {
			return err
		}
	}
	synced, err := c.watchBuiltIn(ctx, r)
	if err != nil {
		return err
	}
	optional, err := c.watchOptional(ctx, r)
	if err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("watch workloads: %w", context.Cause(ctx))
	}
	return c.awaitOptional(ctx, optional)
}

// watchBuiltIn starts to watch the kinds that every API server serves.
func (c *Cluster) watchBuiltIn(ctx context.Context, r *roster) ([]cache.InformerSynced, error) {
	scope := c.options.Scope
	var synced []cache.InformerSynced
	for _, namespace := range scope.namespaces() {
		factory := informers.NewSharedInformerFactoryWithOptions(c.client, 0,
			informers.WithNamespace(namespace), informers.WithTweakListOptions(scope.narrow))
		for _, kind := range scope.kinds(false) {
			generic, err := factory.ForResource(kind.Resource)
			if err != nil {
				return nil, fmt.Errorf("watch %s: %w", kind.Resource.Resource, err)
			}
			fed, err := c.feed(r, kind, generic.Informer())
			if err != nil {
				return nil, err
			}
			synced = append(synced, fed)
		}
		factory.StartWithContext(ctx)
	}
	return synced, nil
}

// feed has an informer, which must not run yet, keep r up to date.
func (c *Cluster) feed(r *roster, kind workload.Kind, informer cache.SharedIndexInformer) (cache.InformerSynced, error) {
	if err := informer.SetTransform(c.strip(kind)); err != nil {
		return nil, fmt.Errorf("watch %s: %w", kind.Resource.Resource, err)
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { r.put(obj.(*workload.Workload)) },
		UpdateFunc: func(_, obj any) { r.put(obj.(*workload.Workload)) },
		DeleteFunc: func(obj any) {
			if w, ok := lastState(obj).(*workload.Workload); ok {
				r.drop(w.Ref())
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", kind.Resource.Resource, err)
	}
	return registration.HasSynced, nil
}

// lastState returns a deleted object as it was last seen.
func lastState(obj any) any {
	if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return last.Obj
	}
	return obj
}

// strip makes workloads of objects. An object that cannot be read becomes a workload that asks for nothing, since an error here would
// keep all others of its kind from being seen.
func (c *Cluster) strip(kind workload.Kind) cache.TransformFunc {
	return func(obj any) (any, error) {
		w, err := kind.Strip(obj, c.options.KeepAnnotation)
		if err == nil {
			return w, nil
		}
		m, notMeta := meta.Accessor(obj)
		if notMeta != nil {
			return nil, err
		}
		c.logger().Warn("workload is malformed and left alone", "kind", kind.Kind, "namespace", m.GetNamespace(), "name", m.GetName(), "error", err)
		return &workload.Workload{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(),
				Generation: m.GetGeneration(), ResourceVersion: m.GetResourceVersion(),
			},
			Kind: kind.Kind,
		}, nil
	}
}

func (c *Cluster) logger() *slog.Logger {
	if c.options.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.options.Logger
}
