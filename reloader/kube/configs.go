package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/live"
)

// resourceOf returns where the API server serves a kind of config, and tellingResource where it serves the reports about its content.
func resourceOf(kind reloader.ConfigKind) schema.GroupVersionResource {
	of := kind.Info()
	return schema.GroupVersionResource{Group: of.Group, Version: of.Version, Resource: of.Resource}
}

func tellingResource(kind reloader.ConfigKind) schema.GroupVersionResource {
	of := resourceOf(kind)
	of.Resource = kind.Info().TellingResource()
	return of
}

// Meta reads the metadata of a config.
func (c *Cluster) Meta(ctx context.Context, config reloader.Config) (live.Meta, error) {
	if config.Kind.External() {
		obj, err := c.Get(ctx, config)
		return obj.Meta, err
	}
	obj, err := c.metadata.Resource(resourceOf(config.Kind)).Namespace(config.Namespace).Get(ctx, config.Name, metav1.GetOptions{})
	if err != nil {
		return live.Meta{}, err
	}
	return c.metaOf(config.Kind, obj), nil
}

// Get reads a config with its content.
func (c *Cluster) Get(ctx context.Context, config reloader.Config) (live.Object, error) {
	switch config.Kind {
	case reloader.ConfigMap:
		obj, err := c.client.CoreV1().ConfigMaps(config.Namespace).Get(ctx, config.Name, metav1.GetOptions{})
		if err != nil {
			return live.Object{}, err
		}
		return live.Object{Meta: c.metaOf(config.Kind, obj), Content: digest.OfConfigMap(obj)}, nil
	case reloader.Secret:
		obj, err := c.client.CoreV1().Secrets(config.Namespace).Get(ctx, config.Name, metav1.GetOptions{})
		if err != nil {
			return live.Object{}, err
		}
		return live.Object{Meta: c.metaOf(config.Kind, obj), Content: digest.OfSecret(obj)}, nil
	case reloader.SecretProviderClass:
		return c.providerClass(ctx, config)
	}
	if of := config.Kind.Info(); of.Told != "" || len(of.Content) == 0 {
		return live.Object{}, fmt.Errorf("read %s: nothing reads the content of this kind", config)
	}
	obj, err := c.dynamic.Resource(resourceOf(config.Kind)).Namespace(config.Namespace).Get(ctx, config.Name, metav1.GetOptions{})
	if err != nil {
		return live.Object{}, err
	}
	return live.Object{Meta: c.metaOf(config.Kind, obj), Content: digest.OfFields(config, obj.Object)}, nil
}

// List returns the configs of a kind in a namespace, each with its metadata; none if the API server does not serve the kind.
func (c *Cluster) List(ctx context.Context, kind reloader.ConfigKind, namespace string) (map[reloader.Config]live.Meta, error) {
	found := map[reloader.Config]live.Meta{}
	objects := c.metadata.Resource(resourceOf(kind)).Namespace(namespace)
	err := each(ctx, objects.List, metav1.ListOptions{}, func(o *metav1.PartialObjectMetadata) error {
		found[reloader.Config{Kind: kind, Namespace: namespace, Name: o.Name}] = c.metaOf(kind, o)
		return nil
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	return found, nil
}

// metaOf keeps of an object's metadata what decisions need. Other annotations are dropped: one of them holds the whole content.
func (c *Cluster) metaOf(kind reloader.ConfigKind, o metav1.Object) live.Meta {
	kept := maps.Clone(o.GetAnnotations())
	maps.DeleteFunc(kept, func(key, _ string) bool { return !c.options.KeepAnnotation(key) })
	manager, written := dataManager(kind, o.GetManagedFields())
	selector := c.options.ResourceSelector
	return live.Meta{
		UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion(), Created: o.GetCreationTimestamp().Time, Annotations: kept, Labels: o.GetLabels(),
		DataManager: manager, DataWritten: written, Written: lastWritten(o.GetManagedFields()),
		Unselected: selector != nil && !selector.Matches(labels.Set(o.GetLabels())),
	}
}

// lastWritten returns when a field manager last gave anything a value.
func lastWritten(entries []metav1.ManagedFieldsEntry) (written time.Time) {
	for _, e := range entries {
		if e.Time != nil && e.Time.After(written) {
			written = e.Time.Time
		}
	}
	return written
}

// dataManager returns the field manager that last wrote data of a config, and when, by the second. Of several within the same second none is named. A
// manager has one time for all that it wrote.
func dataManager(kind reloader.ConfigKind, entries []metav1.ManagedFieldsEntry) (manager string, written time.Time) {
	for _, e := range entries {
		switch {
		case e.FieldsV1 == nil || e.Time == nil || e.Subresource != "" && !kind.External() || !ownsData(kind, e.FieldsV1.GetRawBytes()):
		case e.Time.After(written):
			manager, written = e.Manager, e.Time.Time
		case e.Time.Time.Equal(written) && e.Manager != manager:
			manager = ""
		}
	}
	return manager, written
}

// ownsData reports whether managed fields have content of the object itself. An annotation may have the name of a content field, too; most entries do
// not even look like it and are not decoded.
func ownsData(kind reloader.ConfigKind, fields []byte) bool {
	content := kind.Info().Content
	if !slices.ContainsFunc(content, func(field string) bool { return bytes.Contains(fields, []byte(`"f:`+field+`"`)) }) {
		return false
	}
	var own map[string]json.RawMessage
	return json.Unmarshal(fields, &own) == nil && slices.ContainsFunc(content, func(field string) bool { return own["f:"+field] != nil })
}
