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
		return parts{meta: &o.ObjectMeta, selector: o.Spec.Selector, template: &o.Spec.Template, dormant: jobDormant(o), progress: jobProgress(o)}
	}),
}

// jobProgress says how far a Job is that was just made: nothing of it ran before, so that it is rolled out once all that runs is ready.
func jobProgress(o *batchv1.Job) Progress {
	p := Progress{Phase: Rolling, Observed: true}
	for _, c := range o.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			p.Phase = RolledOut
			return p
		case c.Type == batchv1.JobFailed:
			p.Phase, p.Why = Stalled, "the Job has failed"
			return p
		}
	}
	switch ready := o.Status.Ready; {
	case o.Spec.Suspend != nil && *o.Spec.Suspend:
		p.Phase, p.Why = Waiting, whySuspend
	case ready != nil && *ready > 0 && *ready >= o.Status.Active:
		p.Phase = RolledOut
	}
	return p
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
