package workload

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
)

// Workload is the stripped form of an object that has a pod template. Its ObjectMeta has name, namespace, UID, generation,
// resource version, creation and deletion time, and the annotations that were asked for; *Workload is a metav1.Object. A Workload
// is never changed after Strip.
type Workload struct {
	metav1.ObjectMeta
	// Kind is the kind of the object, such as Deployment.
	Kind string
	// Written is when something other than a subresource was last written, by the managed fields; zero if they do not say.
	Written time.Time
	// HasAnnotations reports whether the object has any annotation, also one that was not kept.
	HasAnnotations bool
	// Selector selects the workload's pods.
	Selector *metav1.LabelSelector
	Template Template
}

// Ref names w.
func (w *Workload) Ref() reloader.WorkloadRef {
	return reloader.WorkloadRef{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
}

// Template is the stripped form of a pod template.
type Template struct {
	// Annotations has only those that were asked for.
	Annotations map[string]string
	// HasAnnotations reports whether the template has any annotation, also one that was not kept.
	HasAnnotations bool
	// Containers are the regular containers in their order.
	Containers []Container
	// References has every ConfigMap and Secret that the template refers to, wherever it does.
	References map[reloader.Config]*Reference
}

// Container is a regular container of a pod template.
type Container struct {
	Name string
	// EnvCount is the number of environment variables, marks included.
	EnvCount int
	// Marks are the environment variables that look like marks, in their order.
	Marks []EnvMark
}

// EnvMark is an environment variable whose name starts with MarkPrefix.
type EnvMark struct {
	// Index is its place in the container's env.
	Index int
	Name  string
	// Value is empty unless it is lower-case hex: anything else is no mark value, and may be somebody's content.
	Value string
}

// MarkPrefix starts the name of every environment variable that is written as a mark.
const MarkPrefix = "STAKATER_"
