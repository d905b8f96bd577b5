package kube

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/reroll-dev/reroll/reloader"
)

// Touch is a write of a config that a watch has seen.
type Touch struct {
	// Config has no name if it can be any of its kind and namespace.
	Config reloader.Config
	Verb   reloader.Verb
	// Manager is the field manager that last wrote data, and At is when, by the second; both are zero if nobody says. A watch knows no
	// user.
	Manager string
	At      time.Time
}

// WatchConfigs calls touched for every write of a ConfigMap or Secret of the scope, unless its kind is ignored, until ctx ends, and for every
// rotation of a SecretProviderClass if the scope has them. It returns once it sees what exists; for that touched is not called. Reroll
// asks for the metadata of each object alone, and keeps only its name and version. The permission that this takes, to list Secrets, is
// one that could read them all.
func (c *Cluster) WatchConfigs(ctx context.Context, touched func(Touch)) error {
	var synced []cache.InformerSynced
	for _, kind := range []reloader.ConfigKind{reloader.ConfigMap, reloader.Secret} {
		if slices.Contains(c.options.Scope.IgnoredConfigs, kind) {
			continue
		}
		for _, namespace := range c.options.Scope.namespaces() {
			fed, err := c.watchConfigs(ctx, kind, namespace, touched)
			if err != nil {
				return fmt.Errorf("watch %ss: %w", kind, err)
			}
			synced = append(synced, fed)
		}
	}
	if c.options.Scope.Classes {
		for _, namespace := range c.options.Scope.namespaces() {
			fed, err := c.watchClasses(ctx, namespace, touched)
			if err != nil {
				return fmt.Errorf("watch %ss: %w", reloader.SecretProviderClass, err)
			}
			synced = append(synced, fed)
		}
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("watch configs: %w", context.Cause(ctx))
	}
	return nil
}

func (c *Cluster) watchConfigs(ctx context.Context, kind reloader.ConfigKind, namespace string, touched func(Touch)) (cache.InformerSynced, error) {
	informer := metadatainformer.NewFilteredMetadataInformer(c.metadata, configResources[kind], namespace, 0, cache.Indexers{}, c.options.Scope.narrow).Informer()
	if err := informer.SetTransform(versionOnly); err != nil {
		return nil, err
	}
	tell := func(obj any, verb reloader.Verb) {
		if o, ok := lastState(obj).(*metav1.PartialObjectMetadata); ok {
			touched(touchOf(kind, o, verb))
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if !initial {
				tell(obj, reloader.VerbCreate)
			}
		},
		UpdateFunc: func(old, obj any) {
			if !sameObject(old, obj) {
				tell(obj, reloader.VerbUpdate)
			}
		},
		DeleteFunc: func(obj any) { tell(obj, reloader.VerbDelete) },
	})
	if err != nil {
		return nil, err
	}
	go informer.RunWithContext(ctx)
	return registration.HasSynced, nil
}

// sameObject reports whether two states are one version of one object, as after a watch that was begun anew.
func sameObject(a, b any) bool {
	x, y := a.(*metav1.PartialObjectMetadata), b.(*metav1.PartialObjectMetadata)
	return x.UID == y.UID && x.ResourceVersion == y.ResourceVersion
}

func touchOf(kind reloader.ConfigKind, o *metav1.PartialObjectMetadata, verb reloader.Verb) Touch {
	t := Touch{Config: reloader.Config{Kind: kind, Namespace: o.Namespace, Name: o.Name}, Verb: verb}
	if len(o.ManagedFields) > 0 && verb != reloader.VerbDelete {
		t.Manager, t.At = o.ManagedFields[0].Manager, o.ManagedFields[0].Time.Time
	}
	return t
}

// versionOnly keeps of a config what an informer and a Touch need.
func versionOnly(obj any) (any, error) {
	o, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	manager, at, _ := dataManager(o.ManagedFields)
	return slimMeta(o, manager, at), nil
}

// slimMeta keeps of o its name and version, and who wrote it when, as far as that is known.
func slimMeta(o *metav1.PartialObjectMetadata, manager string, at time.Time) *metav1.PartialObjectMetadata {
	slim := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: o.Name, Namespace: o.Namespace, UID: o.UID, ResourceVersion: o.ResourceVersion,
	}}
	if !at.IsZero() {
		written := metav1.NewTime(at)
		slim.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: manager, Time: &written}}
	}
	return slim
}
