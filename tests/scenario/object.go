package scenario

import (
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// New returns an empty object of that kind.
func New(kind string) (Typed, error) {
	k, ok := kinds[kind]
	if !ok {
		return nil, fmt.Errorf("kind %.40q cannot be in a scenario", kind)
	}
	return k.make(), nil
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
	obj.GetObjectKind().SetGroupVersionKind(kinds[head.Kind].resource.GroupVersion().WithKind(head.Kind))
	if kinds[head.Kind].workload {
		complete(obj)
	}
	o.Typed = obj
	return nil
}

// Ref names o.
func (o Object) Ref() Ref {
	return NewRef(o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName())
}

// DefaultNamespace is the namespace of objects and Refs that name none. A World may give it another name of its own.
const DefaultNamespace = "main"

// NamespaceWord matches {namespace:x} in a text of an object: a World puts there the real name of the namespace that the scenario calls x.
var NamespaceWord = regexp.MustCompile(`\{namespace:([a-z0-9-]+)\}`)

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
	if len(parts) != 3 || kinds[parts[0]].make == nil || parts[1] == "" || parts[2] == "" {
		return "", "", "", fmt.Errorf("%.80q is no Kind/name or Kind/namespace/name", string(r))
	}
	return parts[0], parts[1], parts[2], nil
}

// Workload reports whether r names a workload.
func (r Ref) Workload() bool {
	kind, _, _, err := r.Split()
	return err == nil && kinds[kind].workload
}
