package workload

import appsv1 "k8s.io/api/apps/v1"

// StatefulSet is the kind of apps/v1 StatefulSets.
var StatefulSet = Kind{
	Kind:     "StatefulSet",
	Resource: appsv1.SchemeGroupVersion.WithResource("statefulsets"),
	Roll:     InPlace,
	Strip: stripper("StatefulSet", "/spec/template", func(o *appsv1.StatefulSet) parts {
		return parts{meta: &o.ObjectMeta, selector: o.Spec.Selector, template: &o.Spec.Template}
	}),
}
