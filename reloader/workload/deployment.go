package workload

import appsv1 "k8s.io/api/apps/v1"

// Deployment is the kind of apps/v1 Deployments.
var Deployment = Kind{
	Kind:     "Deployment",
	Resource: appsv1.SchemeGroupVersion.WithResource("deployments"),
	Roll:     InPlace,
	Strip: stripper("Deployment", "/spec/template", func(o *appsv1.Deployment) parts {
		return parts{meta: &o.ObjectMeta, selector: o.Spec.Selector, template: &o.Spec.Template, paused: o.Spec.Paused}
	}),
}
