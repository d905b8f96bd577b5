package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Roll makes w run with new content in the way of its kind, and returns w as it is then. It fails like a conflict, or like an
// invalid patch, if w is no longer as it was read. The same roll made twice, also by two processes at once, is made once.
func (c *Cluster) Roll(ctx context.Context, w *workload.Workload, r strategy.Roll) (*workload.Workload, error) {
	kind, err := kindOf(w.Kind)
	if err != nil {
		return nil, err
	}
	switch kind.Roll {
	case workload.NewJob:
		return c.startJob(ctx, kind, w, r)
	case workload.Recreate:
		return c.recreate(ctx, kind, w, r)
	}
	return c.patch(ctx, kind, w, r)
}

// patch sends the operations as one JSON patch; the workload's controller does the rest.
func (c *Cluster) patch(ctx context.Context, kind workload.Kind, w *workload.Workload, r strategy.Roll) (*workload.Workload, error) {
	body, err := strategy.Marshal(r.Ops)
	if err != nil {
		return nil, fmt.Errorf("encode patch of %s: %w", w.Ref(), err)
	}
	var obj runtime.Object
	options := metav1.PatchOptions{FieldManager: r.FieldManager}
	if kind.Optional {
		obj, err = c.dynamic.Resource(kind.Resource).Namespace(w.Namespace).Patch(ctx, w.Name, types.JSONPatchType, body, options)
	} else {
		obj, err = c.restClientOf(kind).Patch(types.JSONPatchType).Namespace(w.Namespace).Resource(kind.Resource.Resource).Name(w.Name).
			VersionedParams(&options, scheme.ParameterCodec).Body(body).Do(ctx).Get()
	}
	if err != nil {
		return nil, err
	}
	return kind.Strip(obj, c.options.KeepAnnotation)
}

// amend returns what ops make of obj, for kinds whose template the API server would not let them change. Operations that do not
// apply, such as a test that fails, are a conflict.
func amend(kind workload.Kind, obj *unstructured.Unstructured, ops []strategy.Op) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s/%s: %w", kind.Kind, obj.GetNamespace(), obj.GetName(), err)
	}
	body, err := strategy.Marshal(ops)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(body)
	if err != nil {
		return nil, fmt.Errorf("decode JSON patch: %w", err)
	}
	data, err = patch.Apply(data)
	if err != nil {
		return nil, moved(kind, obj.GetName(), fmt.Errorf("it is not as it was read: %w", err))
	}
	amended := &unstructured.Unstructured{}
	if err := amended.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("decode %s %s/%s: %w", kind.Kind, obj.GetNamespace(), obj.GetName(), err)
	}
	return amended, nil
}

// moved is the conflict of an object that must be read and decided about again.
func moved(kind workload.Kind, name string, why error) error {
	return apierrors.NewConflict(kind.Resource.GroupResource(), name, why)
}

// gone is the error of an object that is not there any more, or will not be soon.
func gone(kind workload.Kind, name string) error {
	return apierrors.NewNotFound(kind.Resource.GroupResource(), name)
}

// stamps returns the annotations that ops write into the metadata of the object itself.
func stamps(ops []strategy.Op) map[string]string {
	written := map[string]string{}
	for _, op := range ops {
		key, found := pointsInto("/metadata/annotations/", op.Path)
		value, text := op.Value.(string)
		if found && text && op.Op != "test" {
			written[key] = value
		}
	}
	return written
}

// pointsInto returns the key that a JSON pointer names in the map whose pointer, with a slash behind it, is prefix.
func pointsInto(prefix, pointer string) (key string, found bool) {
	token, found := strings.CutPrefix(pointer, prefix)
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~"), found
}
