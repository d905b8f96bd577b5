package workload

import appsv1 "k8s.io/api/apps/v1"

// DaemonSet is the kind of apps/v1 DaemonSets.
var DaemonSet = Kind{
	Kind:     "DaemonSet",
	Resource: appsv1.SchemeGroupVersion.WithResource("daemonsets"),
	Roll:     InPlace,
	Strip: stripper("DaemonSet", "/spec/template", func(o *appsv1.DaemonSet) parts {
		return parts{meta: &o.ObjectMeta, selector: o.Spec.Selector, template: &o.Spec.Template, progress: daemonSetProgress(o)}
	}),
}

func daemonSetProgress(o *appsv1.DaemonSet) Progress {
	progress := pods{
		observed: o.Status.ObservedGeneration >= o.Generation, wanted: o.Status.DesiredNumberScheduled,
		updated: o.Status.UpdatedNumberScheduled, available: o.Status.NumberAvailable,
		waits: when(o.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType, whyOnDelete),
	}.progress()
	progress.Revision = o.Annotations[appsv1.DeprecatedTemplateGeneration] // the API server counts templates there
	return progress
}
