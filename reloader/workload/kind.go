package workload

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is one kind of workload that can be rolled.
type Kind struct {
	// Kind is its name, such as Deployment.
	Kind string
	// Resource is where the API server serves it.
	Resource schema.GroupVersionResource
	// Strip returns what is needed of obj, a pointer to the typed object or an already stripped *Workload, with the annotations
	// whose keys keep approves. It changes nothing in obj.
	Strip func(obj any, keep func(annotationKey string) bool) (*Workload, error)
}

// Kinds lists every kind of workload.
var Kinds = []Kind{Deployment, StatefulSet, DaemonSet}

// KindNamed returns the kind of that name.
func KindNamed(name string) (Kind, bool) {
	for _, k := range Kinds {
		if k.Kind == name {
			return k, true
		}
	}
	return Kind{}, false
}
