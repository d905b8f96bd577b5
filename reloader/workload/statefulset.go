package workload

import appsv1 "k8s.io/api/apps/v1"

// StatefulSet is the kind of apps/v1 StatefulSets.
var StatefulSet = Kind{
	Kind:     "StatefulSet",
	Resource: appsv1.SchemeGroupVersion.WithResource("statefulsets"),
	Strip: stripper("StatefulSet", func(o *appsv1.StatefulSet) parts {
		return parts{&o.ObjectMeta, o.Spec.Selector, &o.Spec.Template}
	}),
}
