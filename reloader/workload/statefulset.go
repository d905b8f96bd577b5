package workload

import appsv1 "k8s.io/api/apps/v1"

// StatefulSet is the kind of apps/v1 StatefulSets.
var StatefulSet = Kind{
	Kind:     "StatefulSet",
	Resource: appsv1.SchemeGroupVersion.WithResource("statefulsets"),
	Roll:     InPlace,
	Strip: stripper("StatefulSet", "/spec/template", func(o *appsv1.StatefulSet) parts {
		return parts{meta: &o.ObjectMeta, selector: o.Spec.Selector, template: &o.Spec.Template, progress: statefulSetProgress(o)}
	}),
}

const whyPartition = "the pods below spec.updateStrategy.rollingUpdate.partition keep the old template"

func statefulSetProgress(o *appsv1.StatefulSet) Progress {
	p := pods{
		observed: o.Status.ObservedGeneration >= o.Generation, wanted: replicas(o.Spec.Replicas),
		total: o.Status.Replicas, updated: o.Status.UpdatedReplicas, available: o.Status.AvailableReplicas,
	}
	if o.Spec.MinReadySeconds == 0 {
		p.available = max(p.available, o.Status.ReadyReplicas) // older controllers count only these
	}
	if o.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		p.waits = whyOnDelete
	} else if rolling := o.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil && *rolling.Partition > 0 {
		above := max(0, p.wanted-*rolling.Partition)
		p.waits = when(p.updated >= above && p.available >= p.wanted, whyPartition)
	}
	progress := p.progress()
	progress.Revision = o.Status.UpdateRevision
	return progress
}
