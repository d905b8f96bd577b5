package scenario

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Typed is an object of one of the kinds in kinds.
type Typed interface {
	metav1.Object
	runtime.Object
}

// kinds makes an empty object of every kind that a scenario can have.
var kinds = map[string]func() Typed{
	"ConfigMap":   func() Typed { return &corev1.ConfigMap{} },
	"Secret":      func() Typed { return &corev1.Secret{} },
	"Deployment":  func() Typed { return &appsv1.Deployment{} },
	"StatefulSet": func() Typed { return &appsv1.StatefulSet{} },
	"DaemonSet":   func() Typed { return &appsv1.DaemonSet{} },
}

// New returns an empty object of that kind.
func New(kind string) (Typed, error) {
	make, ok := kinds[kind]
	if !ok {
		return nil, fmt.Errorf("kind %.40q cannot be in a scenario", kind)
	}
	return make(), nil
}

// Object is a manifest as users write it.
type Object struct{ Typed }

// UnmarshalJSON reads a manifest and refuses fields that its kind does not have.
func (o *Object) UnmarshalJSON(data []byte) error {
	var head metav1.TypeMeta
	if err := yaml.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("object: %w", err)
	}
	obj, err := New(head.Kind)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(data, obj); err != nil {
		return fmt.Errorf("%s: %w", head.Kind, err)
	}
	if obj.GetName() == "" {
		return fmt.Errorf("%s has no name", head.Kind)
	}
	if obj.GetNamespace() == "" {
		obj.SetNamespace(DefaultNamespace)
	}
	version := corev1.SchemeGroupVersion
	if Template(obj) != nil {
		version = appsv1.SchemeGroupVersion
		complete(obj)
	}
	obj.GetObjectKind().SetGroupVersionKind(version.WithKind(head.Kind))
	o.Typed = obj
	return nil
}

// Ref names o.
func (o Object) Ref() Ref {
	return NewRef(o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName())
}

// DefaultNamespace is the namespace of objects and Refs that name none. A World may give it another name of its own.
const DefaultNamespace = "main"

// Ref names an object as Kind/name, or as Kind/namespace/name if the namespace is not the default one.
type Ref string

// NewRef returns the Ref of an object.
func NewRef(kind, namespace, name string) Ref {
	if namespace == DefaultNamespace {
		return Ref(kind + "/" + name)
	}
	return Ref(kind + "/" + namespace + "/" + name)
}

// Split returns the parts of r. It fails if r is no name of an object that a scenario can have.
func (r Ref) Split() (kind, namespace, name string, err error) {
	parts := strings.Split(string(r), "/")
	if len(parts) == 2 {
		parts = []string{parts[0], DefaultNamespace, parts[1]}
	}
	if len(parts) != 3 || kinds[parts[0]] == nil || parts[1] == "" || parts[2] == "" {
		return "", "", "", fmt.Errorf("%.80q is no Kind/name or Kind/namespace/name", string(r))
	}
	return parts[0], parts[1], parts[2], nil
}

// Workload reports whether r names a workload.
func (r Ref) Workload() bool {
	kind, _, _, err := r.Split()
	return err == nil && Template(kinds[kind]()) != nil
}

// Template returns the pod template of a workload, and nil for any other object.
func Template(obj any) *corev1.PodTemplateSpec {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	case *appsv1.DaemonSet:
		return &o.Spec.Template
	}
	return nil
}

// complete gives a workload what every workload needs and no scenario is about: a selector, a pod label, and an image for each
// container.
func complete(obj Typed) {
	labels := map[string]string{"app": obj.GetName()}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	switch o := obj.(type) {
	case *appsv1.Deployment:
		o.Spec.Selector = selector
	case *appsv1.StatefulSet:
		o.Spec.Selector, o.Spec.ServiceName = selector, o.Name
	case *appsv1.DaemonSet:
		o.Spec.Selector = selector
	}
	template := Template(obj)
	template.Labels = labels
	if len(template.Spec.Containers) == 0 {
		template.Spec.Containers = []corev1.Container{{Name: "main"}}
	}
	for _, list := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range list {
			list[i].Image = "registry.example/none:1"
		}
	}
}
