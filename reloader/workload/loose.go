package workload

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// looseStripper returns the Strip function of an optional kind, whose objects come as *unstructured.Unstructured; *T has the fields
// of them that are read. An object that does not fit into *T, since any resource of that name may be served, is an error.
func looseStripper[T any](kind, path string, split func(*T) parts) func(any, func(string) bool) (*Workload, error) {
	strip := stripper(kind, path, split)
	return func(obj any, keep func(string) bool) (*Workload, error) {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok || u == nil {
			return strip(obj, keep)
		}
		o := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o); err != nil {
			return nil, fmt.Errorf("read %s %s/%s: %w", kind, u.GetNamespace(), u.GetName(), err)
		}
		return strip(o, keep)
	}
}
