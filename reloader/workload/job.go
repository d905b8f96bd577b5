package workload

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader"
)

// Job is the kind of batch/v1 Jobs. Their pod template cannot be changed.
var Job = Kind{
	Kind:     "Job",
	Resource: batchv1.SchemeGroupVersion.WithResource("jobs"),
	Roll:     Recreate,
	Strip: stripper("Job", "/spec/template", func(o *batchv1.Job) parts {
		return parts{meta: &o.ObjectMeta, selector: o.Spec.Selector, template: &o.Spec.Template, dormant: jobDormant(o)}
	}),
}

// jobDormant returns why nothing of a Job is to be started: it is done for good, or waits to be resumed.
func jobDormant(o *batchv1.Job) reloader.Reason {
	for _, c := range o.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			return reloader.ReasonFinished
		}
	}
	if o.Spec.Suspend != nil && *o.Spec.Suspend {
		return reloader.ReasonSuspended
	}
	return ""
}
