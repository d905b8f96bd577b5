package kube

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Roll makes w run with new content in the way of its kind, and returns w as it is then. The error is a conflict if w is not the newest
// version of the object that was read. The same roll made twice, also by two processes at once, is made once.
func (c *Cluster) Roll(ctx context.Context, w *workload.Workload, r mark.Roll) (*workload.Workload, error) {
	kind, err := kindOf(w.Kind)
	switch {
	case err != nil:
		return nil, err
	case kind.Roll == workload.NewJob:
		return c.startJob(ctx, kind, w, r)
	case kind.Roll == workload.Recreate:
		return c.recreate(ctx, kind, w, r)
	case kind.Optional:
		return c.update(ctx, kind, w, r)
	}
	return c.patch(ctx, kind, w, r)
}

// patch sends one strategic merge patch; the workload's controller does the rest.
func (c *Cluster) patch(ctx context.Context, kind workload.Kind, w *workload.Workload, r mark.Roll) (*workload.Workload, error) {
	body, err := mark.Patch(w, r)
	if err != nil {
		return nil, err
	}
	obj, err := c.restClientOf(kind).Patch(types.StrategicMergePatchType).Namespace(w.Namespace).Resource(kind.Resource.Resource).Name(w.Name).
		VersionedParams(&metav1.PatchOptions{FieldManager: workload.MarkManager}, scheme.ParameterCodec).Body(body).Do(ctx).Get()
	if cause, found := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid); found && cause.Field == "metadata.uid" {
		return nil, moved(kind, w.Name, err) // another object has the resource version of the one that was read
	}
	if err != nil {
		return nil, err
	}
	return kind.Strip(obj, c.options.KeepAnnotation)
}

// update changes an object of a kind whose API has no strategic merge.
func (c *Cluster) update(ctx context.Context, kind workload.Kind, w *workload.Workload, r mark.Roll) (*workload.Workload, error) {
	objects := c.dynamic.Resource(kind.Resource).Namespace(w.Namespace)
	obj, err := objects.Get(ctx, w.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if obj, err = applied(kind, w, obj, r); err != nil {
		return nil, err
	}
	if obj, err = objects.Update(ctx, obj, metav1.UpdateOptions{FieldManager: workload.MarkManager}); err != nil {
		return nil, err
	}
	return kind.Strip(obj, c.options.KeepAnnotation)
}

// applied returns what r makes of obj, the live object of w. Its errors have the types of those with which the API server answers a patch.
func applied(kind workload.Kind, w *workload.Workload, obj *unstructured.Unstructured, r mark.Roll) (*unstructured.Unstructured, error) {
	data, err := obj.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", w.Ref(), err)
	}
	data, err = mark.Apply(w, data, r)
	switch {
	case errors.Is(err, mark.ErrMoved):
		return nil, moved(kind, w.Name, err)
	case errors.Is(err, mark.ErrTaken):
		refused := field.Forbidden(field.NewPath("spec", "template", "spec", "containers"), err.Error())
		return nil, apierrors.NewInvalid(obj.GroupVersionKind().GroupKind(), w.Name, field.ErrorList{refused})
	case err != nil:
		return nil, err
	}
	changed := &unstructured.Unstructured{}
	if err := changed.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("decode %s: %w", w.Ref(), err)
	}
	return changed, nil
}

// moved is the conflict of an object that must be read and decided about again.
func moved(kind workload.Kind, name string, why error) error {
	return apierrors.NewConflict(kind.Resource.GroupResource(), name, why)
}

// gone is the error of an object that does not exist, or will not exist soon.
func gone(kind workload.Kind, name string) error {
	return apierrors.NewNotFound(kind.Resource.GroupResource(), name)
}

// stamps returns the annotations that r writes on the object itself.
func stamps(r mark.Roll) map[string]string {
	written := map[string]string{}
	for key, value := range r.Annotations {
		if text, ok := value.(string); ok {
			written[key] = text
		}
	}
	return written
}
