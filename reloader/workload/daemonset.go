package workload

import appsv1 "k8s.io/api/apps/v1"

// DaemonSet is the kind of apps/v1 DaemonSets.
var DaemonSet = Kind{
	Kind:     "DaemonSet",
	Resource: appsv1.SchemeGroupVersion.WithResource("daemonsets"),
	Strip: stripper("DaemonSet", func(o *appsv1.DaemonSet) parts {
		return parts{&o.ObjectMeta, o.Spec.Selector, &o.Spec.Template}
	}),
}
