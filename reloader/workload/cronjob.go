package workload

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/reroll-dev/reroll/reloader"
)

// CronJob is the kind of batch/v1 CronJobs. They have no pods of their own, and no selector.
var CronJob = Kind{
	Kind:     "CronJob",
	Resource: batchv1.SchemeGroupVersion.WithResource("cronjobs"),
	Roll:     NewJob,
	Strip: stripper("CronJob", "/spec/jobTemplate/spec/template", func(o *batchv1.CronJob) parts {
		p := parts{meta: &o.ObjectMeta, template: &o.Spec.JobTemplate.Spec.Template}
		if o.Spec.Suspend != nil && *o.Spec.Suspend {
			p.dormant = reloader.ReasonSuspended
		}
		return p
	}),
}
