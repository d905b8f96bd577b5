package kube

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Scope says which workloads and configs are watched. The zero value is all of them but Rollouts.
type Scope struct {
	// Namespaces are watched one by one, so that permissions in each of them suffice. If there is none, all namespaces are watched
	// at once, and only then do the next two fields count.
	Namespaces []string
	// IgnoredNamespaces are left out.
	IgnoredNamespaces []string
	// NamespaceSelector leaves out all namespaces whose labels it does not match; nil or empty matches all. Labels may change: the
	// workloads of a namespace that comes to match are tracked at once, and those of one that stops to are forgotten.
	NamespaceSelector labels.Selector
	// IgnoredKinds are names of kinds that are not watched at all.
	IgnoredKinds []string
	// IgnoredConfigs are kinds of config that are not watched.
	IgnoredConfigs []reloader.ConfigKind
	// Classes has the rotations of SecretProviderClasses watched.
	Classes bool
	// Rollouts has Argo Rollouts watched.
	Rollouts bool
}

// namespaces returns what is watched, each for itself.
func (s Scope) namespaces() []string {
	if len(s.Namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return slices.Compact(slices.Sorted(slices.Values(s.Namespaces)))
}

// covers reports whether the workloads of a namespace are watched, if its labels are selected.
func (s Scope) covers(namespace string) bool {
	if len(s.Namespaces) > 0 {
		return slices.Contains(s.Namespaces, namespace)
	}
	return !slices.Contains(s.IgnoredNamespaces, namespace)
}

// Covers reports whether the workloads of a namespace count, as far as its name tells.
func (c *connection) Covers(namespace string) bool { return c.options.Scope.covers(namespace) }

// kinds returns the kinds that are watched.
func (s Scope) kinds() []workload.Kind {
	return slices.DeleteFunc(slices.Clone(workload.Kinds), func(k workload.Kind) bool {
		return k.Kind == workload.Rollout.Kind && !s.Rollouts || slices.Contains(s.IgnoredKinds, k.Kind)
	})
}

// selects reports whether namespaces are chosen by their labels.
func (s Scope) selects() bool {
	return len(s.Namespaces) == 0 && s.NamespaceSelector != nil && !s.NamespaceSelector.Empty()
}

// narrow has the API server leave out the ignored namespaces, so that they cost no memory.
func (s Scope) narrow(o *metav1.ListOptions) {
	if len(s.Namespaces) > 0 || len(s.IgnoredNamespaces) == 0 {
		return
	}
	var others []fields.Selector
	for _, namespace := range s.IgnoredNamespaces {
		others = append(others, fields.OneTermNotEqualSelector("metadata.namespace", namespace))
	}
	o.FieldSelector = fields.AndSelectors(others...).String()
}
