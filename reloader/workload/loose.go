package workload

import (
	"fmt"
	"strconv"

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

// text returns a field of an object's status that is text; empty if there is none. Whatever else is served under that name does no harm:
// a workload must not be given up for its status.
func text(status any, field string) string {
	fields, _ := status.(map[string]any)
	value, _ := fields[field].(string)
	return value
}

// number returns a field that is a whole number, or text that spells one; 0 if there is none.
func number(status any, field string) int64 {
	fields, _ := status.(map[string]any)
	switch value := fields[field].(type) {
	case int64:
		return value
	case string:
		n, err := strconv.ParseInt(value, 10, 64)
		if err == nil {
			return n
		}
	}
	return 0
}

// conditionReason returns the reason of a condition whose status is False; empty if there is none.
func conditionReason(status any, conditionType string) string {
	fields, _ := status.(map[string]any)
	conditions, _ := fields["conditions"].([]any)
	for _, c := range conditions {
		if text(c, "type") == conditionType && text(c, "status") == "False" {
			return text(c, "reason")
		}
	}
	return ""
}
