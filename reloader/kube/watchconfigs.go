package kube

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/reroll-dev/reroll/reloader"
)

// Touch is a write of a config that a watch has seen.
type Touch struct {
	// Config has no name if it can be any of its kind and namespace.
	Config reloader.Config
	Verb   reloader.Verb
	// Manager is the field manager that last wrote data, and At is when, by the second; both are zero if unknown. A watch knows no user.
	Manager string
	At      time.Time
}

// WatchConfigs calls touched for every write of a ConfigMap or Secret of the scope, unless its kind is ignored, until ctx ends, and for every
// rotation of a SecretProviderClass if the scope has them. It returns once it has listed what exists; for that touched is not called. It
// asks for metadata alone and keeps only name and version of each object. The permission that this takes, to list Secrets, also lets
// their content be read.
//
// A kind that is not part of Kubernetes may be absent, or refused: its watch then begins when it can.
func (c *Cluster) WatchConfigs(ctx context.Context, touched func(Touch)) error {
	var synced []cache.InformerSynced
	for _, kind := range reloader.ConfigKinds {
		if slices.Contains(c.options.Scope.IgnoredConfigs, kind) || kind.External() && !c.options.Scope.Classes {
			continue
		}
		for _, namespace := range c.options.Scope.namespaces() {
			settled, err := c.watchConfigs(ctx, kind, namespace, touched)
			if err != nil {
				return fmt.Errorf("watch %ss: %w", kind, err)
			}
			synced = append(synced, settled)
		}
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("watch configs: %w", context.Cause(ctx))
	}
	return nil
}

// watchConfigs watches one kind. For SecretProviderClasses these are the PodStatuses, of which only updates are rotations. Metadata does not
// say which class one is about, so that a touch is about every class of the namespace.
func (c *Cluster) watchConfigs(ctx context.Context, kind reloader.ConfigKind, namespace string, touched func(Touch)) (cache.InformerSynced, error) {
	classes := kind.External()
	tell := func(obj any, verb reloader.Verb) {
		o, ok := last[*metav1.PartialObjectMetadata](obj)
		if !ok {
			return
		}
		t := Touch{Config: reloader.Config{Kind: kind, Namespace: o.Namespace, Name: o.Name}, Verb: verb}
		if classes {
			t.Config.Name = ""
		}
		if verb != reloader.VerbDelete {
			t.Manager, t.At = o.GenerateName, o.CreationTimestamp.Time
		}
		touched(t)
	}
	var failed cache.InformerSynced
	handler := cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			switch {
			case initial && failed():
				tell(obj, reloader.VerbUpdate) // it may have been written before the watch could begin
			case !classes && !initial:
				tell(obj, reloader.VerbCreate)
			}
		},
		UpdateFunc: func(old, obj any) {
			before, now := old.(*metav1.PartialObjectMetadata), obj.(*metav1.PartialObjectMetadata)
			if before.UID != now.UID || before.ResourceVersion != now.ResourceVersion { // not the same again, as after a new list
				tell(obj, reloader.VerbUpdate)
			}
		},
		DeleteFunc: func(obj any) {
			if !classes {
				tell(obj, reloader.VerbDelete)
			}
		},
	}
	resource := tellingResource(kind)
	informer := c.metadataInformer(resource, namespace, c.options.Scope.narrow)
	has, failed, err := c.feed(informer, slimMeta(kind), handler, resource.Group != "", resource.Resource)
	if err != nil {
		return nil, err
	}
	go informer.RunWithContext(ctx)
	return func() bool { return has() || failed() }, nil
}
