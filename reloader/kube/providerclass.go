package kube

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/live"
)

// The resources of the Secrets Store CSI driver. It serves older versions of the same objects too.
var (
	providerClasses     = schema.GroupVersionResource{Group: "secrets-store.csi.x-k8s.io", Version: "v1", Resource: "secretproviderclasses"}
	providerPodStatuses = providerClasses.GroupVersion().WithResource("secretproviderclasspodstatuses")
)

// providerClass reads a SecretProviderClass: its annotations from the class itself, its content from the PodStatuses that name it.
// A selector may match the labels of either. What exists in neither form is not found, and so is everything where the driver is not installed.
func (c *Cluster) providerClass(ctx context.Context, config reloader.Config) (live.Object, error) {
	class, err := c.providerClassMeta(ctx, config)
	if err != nil {
		return live.Object{}, err
	}
	statuses, err := c.podStatuses(ctx, config)
	if err != nil {
		return live.Object{}, err
	}
	if class == nil && len(statuses) == 0 {
		c.proofs.Delete(config)
		return live.Object{}, apierrors.NewNotFound(providerClasses.GroupResource(), config.Name)
	}
	if class == nil {
		class = &metav1.ObjectMeta{}
	}
	v := viewOf(statuses, c.proofOf(config))
	if !v.unproven {
		c.proofs.Store(config, v.decisive.moment)
	}
	obj := live.Object{Meta: c.metaOf(class), Content: digest.OfProviderClass(config.Namespace, config.Name, v.objects())}
	obj.Unselected = obj.Unselected && !slices.ContainsFunc(statuses, func(s podStatus) bool {
		return c.options.ResourceSelector.Matches(labels.Set(s.labels))
	})
	obj.ResourceVersion, obj.Unproven = v.version(), v.unproven
	obj.DataManager, obj.DataWritten = "", v.written()
	if v.decisive != nil {
		obj.DataManager = v.decisive.manager
	}
	return obj, nil
}

// proofOf returns when the newest update was made that this process has seen of a class.
func (c *Cluster) proofOf(config reloader.Config) moment {
	seen, _ := c.proofs.Load(config)
	at, _ := seen.(moment)
	return at
}

// providerClassMeta returns the metadata of a class, or nil if there is none to be had. The PodStatuses of a class outlive it, and
// whoever may not read it has no annotations of it, as with Stakater Reloader; any other failure is one.
func (c *Cluster) providerClassMeta(ctx context.Context, config reloader.Config) (*metav1.ObjectMeta, error) {
	obj, err := c.metadata.Resource(providerClasses).Namespace(config.Namespace).Get(ctx, config.Name, metav1.GetOptions{})
	if notThere(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &obj.ObjectMeta, nil
}

// podStatuses returns what every PodStatus of a class says. Which class it is about stands in its status alone, so that all of the
// namespace are read.
func (c *Cluster) podStatuses(ctx context.Context, config reloader.Config) ([]podStatus, error) {
	var found []podStatus
	options := metav1.ListOptions{Limit: listPage}
	for {
		page, err := c.dynamic.Resource(providerPodStatuses).Namespace(config.Namespace).List(ctx, options)
		if notThere(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if classOf(&page.Items[i]) == config.Name {
				found = append(found, readPodStatus(&page.Items[i]))
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return found, nil
		}
	}
}

// notThere reports whether err says that an object does not exist, or that its kind is not served.
func notThere(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }
