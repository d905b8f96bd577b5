package workload

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Deployment is the kind of apps/v1 Deployments.
var Deployment = Kind{
	Kind:     "Deployment",
	Resource: appsv1.SchemeGroupVersion.WithResource("deployments"),
	Roll:     InPlace,
	Strip: stripper("Deployment", "/spec/template", func(o *appsv1.Deployment) parts {
		return parts{
			meta: &o.ObjectMeta, selector: o.Spec.Selector, template: &o.Spec.Template,
			paused: o.Spec.Paused, progress: deploymentProgress(o),
		}
	}),
}

// revisionAnnotation counts the templates that a Deployment had. Its controller writes it no later than it says that it has seen one.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// deadlineExceeded is the reason of the condition Progressing after which a controller of Deployments or DeploymentConfigs gives up.
const deadlineExceeded = "ProgressDeadlineExceeded"

func deploymentProgress(o *appsv1.Deployment) Progress {
	p := pods{
		observed: o.Status.ObservedGeneration >= o.Generation, wanted: replicas(o.Spec.Replicas),
		total: o.Status.Replicas, updated: o.Status.UpdatedReplicas, available: o.Status.AvailableReplicas,
		waits: when(o.Spec.Paused, whyPaused),
	}
	for _, c := range o.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == deadlineExceeded {
			p.stalled = whyDeadline
		}
	}
	progress := p.progress()
	progress.Revision = o.Annotations[revisionAnnotation]
	progress.Timed = o.Spec.ProgressDeadlineSeconds != nil && *o.Spec.ProgressDeadlineSeconds != math.MaxInt32
	return progress
}
