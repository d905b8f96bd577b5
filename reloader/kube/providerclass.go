package kube

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/live"
)

// The resources of the Secrets Store CSI driver. It serves older versions of the same objects too.
var (
	providerClasses     = resourceOf(reloader.SecretProviderClass)
	providerPodStatuses = tellingResource(reloader.SecretProviderClass)
)

// podStatus is what one SecretProviderClassPodStatus says about its class. It is foreign input: what cannot be read is left out.
type podStatus struct {
	// uid and version are those of the object, and order is the version as a number.
	uid, version string
	order        uint64
	// at is when the status was last written, or the object created, by the second. manager is the field manager that wrote the status,
	// if any is named.
	at      time.Time
	manager string
	// updated says that it was written again after it was created. The driver creates it complete when the pod mounts the class, and updates
	// it after a rotation. There is no status subresource, so that the generation counts these writes.
	updated bool
	labels  labels.Set
	// objects has the version of each object by its ID.
	objects map[string]string
}

// providerClass reads a SecretProviderClass: its annotations from the class itself, its content from the PodStatuses that name it. A selector
// may match the labels of either. If neither exists, as where the driver is not installed, it is not found.
//
// The newest update says what the content is: pods that rotate one after the other make one change, and the last of them none. Creations and
// deletions prove nothing, and an update proves nothing any more if a younger pod mounted something else, or if a newer one was seen before.
// Without a proof the content is the oldest that is known.
func (c *Cluster) providerClass(ctx context.Context, config reloader.Config) (live.Object, error) {
	class, err := c.metadata.Resource(providerClasses).Namespace(config.Namespace).Get(ctx, config.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) { // PodStatuses outlive their class; anyone who may not read it has no annotations of it
		class, err = &metav1.PartialObjectMetadata{}, nil
	}
	if err != nil {
		return live.Object{}, err
	}
	statuses, err := c.podStatuses(ctx, config)
	if err != nil {
		return live.Object{}, err
	}
	obj := live.Object{Meta: c.metaOf(config.Kind, class)}
	obj.ResourceVersion, obj.DataManager, obj.DataWritten, obj.Unproven = "none", "", time.Time{}, true
	if len(statuses) == 0 {
		if class.Name == "" {
			c.proofs.Delete(config)
			return live.Object{}, apierrors.NewNotFound(providerClasses.GroupResource(), config.Name)
		}
		obj.Content = digest.OfProviderClass(config.Namespace, config.Name, nil)
		return obj, nil
	}
	decisive, proven := decide(statuses)
	seen, _ := c.proofs.Load(config)
	if before, ok := seen.(podStatus); ok && !decisive.at.After(before.at) && decisive.order < before.order {
		proven = false
	}
	obj.ResourceVersion, obj.DataManager = decisive.uid+"."+decisive.version, decisive.manager
	if proven {
		c.proofs.Store(config, podStatus{at: decisive.at, order: decisive.order})
		if obj.Unproven = false; decisive.manager != "" {
			obj.DataWritten = decisive.at
		}
	} else {
		obj.ResourceVersion = "unproven." + obj.ResourceVersion
	}
	obj.Content = digest.OfProviderClass(config.Namespace, config.Name, decisive.objects)
	obj.Unselected = obj.Unselected && !slices.ContainsFunc(statuses, func(s podStatus) bool { return c.options.ResourceSelector.Matches(s.labels) })
	return obj, nil
}

// decide returns which of several PodStatuses has the content of their class, and whether it proves that.
func decide(statuses []podStatus) (decisive podStatus, proven bool) {
	slices.SortFunc(statuses, func(a, b podStatus) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.order, b.order), cmp.Compare(a.uid, b.uid))
	})
	newest := statuses[len(statuses)-1]
	for _, s := range slices.Backward(statuses) {
		if s.updated {
			return s, maps.Equal(s.objects, newest.objects)
		}
	}
	return statuses[0], false
}

// podStatuses returns the PodStatuses of a class. Their status alone says which class they are about, so that all of the namespace are read.
func (c *Cluster) podStatuses(ctx context.Context, config reloader.Config) (found []podStatus, err error) {
	statuses := c.dynamic.Resource(providerPodStatuses).Namespace(config.Namespace)
	err = each(ctx, statuses.List, metav1.ListOptions{}, func(u *unstructured.Unstructured) error {
		if name, _, _ := unstructured.NestedString(u.Object, "status", "secretProviderClassName"); name == config.Name {
			found = append(found, readPodStatus(u))
		}
		return nil
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

func readPodStatus(u *unstructured.Unstructured) podStatus {
	s := podStatus{uid: string(u.GetUID()), version: u.GetResourceVersion(), updated: u.GetGeneration() > 1, labels: u.GetLabels(), objects: map[string]string{}}
	s.order, _ = strconv.ParseUint(s.version, 10, 64)
	if s.manager, s.at = dataManager(reloader.SecretProviderClass, u.GetManagedFields()); s.at.IsZero() {
		s.at = u.GetCreationTimestamp().UTC()
	}
	list, _, _ := unstructured.NestedFieldNoCopy(u.Object, "status", "objects")
	items, _ := list.([]any)
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		id, _ := fields["id"].(string)
		s.objects[strings.ToValidUTF8(id, "?")], _ = fields["version"].(string)
	}
	return s
}
