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
	// Optional says that API servers may lack the resource, or get it later: its objects come as *unstructured.Unstructured.
	Optional bool
	// Roll is what makes a workload of this kind run with new content.
	Roll Roll
	// Strip returns what is needed of obj, a pointer to the typed object, its JSON as json.RawMessage, or an already stripped *Workload,
	// with the annotations whose keys keep approves. It changes nothing in obj.
	Strip func(obj any, keep func(annotationKey string) bool) (*Workload, error)
}

// Roll says what makes the workloads of a kind run with new content.
type Roll string

// The ways to roll.
const (
	// InPlace patches the object; its controller replaces the pods.
	InPlace Roll = "in place"
	// NewJob makes a Job of the object's template and leaves the object as it is.
	NewJob Roll = "new job"
	// Recreate deletes the object and creates it again with the marks.
	Recreate Roll = "recreate"
)

// Kinds lists every kind of workload.
var Kinds = []Kind{Deployment, StatefulSet, DaemonSet, CronJob, Job, Rollout, DeploymentConfig}

// KindNamed returns the kind of that name.
func KindNamed(name string) (Kind, bool) {
	for _, k := range Kinds {
		if k.Kind == name {
			return k, true
		}
	}
	return Kind{}, false
}
