package workload

import appsv1 "k8s.io/api/apps/v1"

// Deployment is the kind of apps/v1 Deployments.
var Deployment = Kind{
	Kind:     "Deployment",
	Resource: appsv1.SchemeGroupVersion.WithResource("deployments"),
	Strip: stripper("Deployment", func(o *appsv1.Deployment) parts {
		return parts{&o.ObjectMeta, o.Spec.Selector, &o.Spec.Template}
	}),
}
