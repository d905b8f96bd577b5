package workload

import (
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is one kind of workload that can be rolled.
type Kind struct {
	// Kind is its name, such as Deployment.
	Kind string
	// Resource is where the API server serves it.
	Resource schema.GroupVersionResource
	// Optional says that API servers may lack the resource, or get it later: its objects come as *unstructured.Unstructured.
	Optional bool
	// Roll is what makes a workload of this kind run with new content.
	Roll Roll
	// Strip returns what is needed of obj, a pointer to the typed object, its JSON as json.RawMessage, or an already stripped *Workload,
	// with the annotations whose keys keep approves. It changes nothing in obj.
	Strip func(obj any, keep func(annotationKey string) bool) (*Workload, error)
}

// Roll says what makes the workloads of a kind run with new content.
type Roll string

// The ways to roll.
const (
	// InPlace patches the object; its controller replaces the pods.
	InPlace Roll = "in place"
	// NewJob makes a Job of the object's template and leaves the object as it is.
	NewJob Roll = "new job"
	// Recreate deletes the object and creates it again with the marks.
	Recreate Roll = "recreate"
)

// Kinds lists every kind of workload.
var Kinds = []Kind{Deployment, StatefulSet, DaemonSet, CronJob, Job, Rollout, DeploymentConfig}

// KindNamed returns the kind of that name.
func KindNamed(name string) (Kind, bool) {
	for _, k := range Kinds {
		if k.Kind == name {
			return k, true
		}
	}
	return Kind{}, false
}

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
		waits: when(o.Spec.Paused, WhyPaused),
	}
	failure := ""
	for _, c := range o.Status.Conditions {
		switch {
		case c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == deadlineExceeded:
			p.stalled = whyDeadline
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			failure = ": " + says(c.Reason, c.Message)
		}
	}
	if p.stalled != "" {
		p.stalled += failure
	}
	progress := p.progress()
	progress.Revision = o.Annotations[revisionAnnotation]
	progress.Timed = o.Spec.ProgressDeadlineSeconds != nil && *o.Spec.ProgressDeadlineSeconds != math.MaxInt32
	return progress
}

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
		p.waits = WhyOnDelete
	} else if rolling := o.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil && *rolling.Partition > 0 {
		above := max(0, p.wanted-*rolling.Partition)
		p.waits = when(p.updated >= above && p.available >= p.wanted, whyPartition)
	}
	progress := p.progress()
	progress.Revision = o.Status.UpdateRevision
	return progress
}

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
		waits: when(o.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType, WhyOnDelete),
	}.progress()
	progress.Revision = o.Annotations[appsv1.DeprecatedTemplateGeneration] // the API server counts templates there
	return progress
}

// CronJob is the kind of batch/v1 CronJobs. They have no pods of their own, and no selector.
var CronJob = Kind{
	Kind:     "CronJob",
	Resource: batchv1.SchemeGroupVersion.WithResource("cronjobs"),
	Roll:     NewJob,
	Strip: stripper("CronJob", "/spec/jobTemplate/spec/template", func(o *batchv1.CronJob) parts {
		return parts{meta: &o.ObjectMeta, template: &o.Spec.JobTemplate.Spec.Template, dormant: o.Spec.Suspend != nil && *o.Spec.Suspend}
	}),
}

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
		p.Phase, p.Why = Waiting, WhySuspend
	case ready != nil && *ready > 0 && *ready >= o.Status.Active:
		p.Phase = RolledOut
	}
	return p
}

// jobDormant reports whether nothing of a Job must be started: it is done for good, or waits to be resumed.
func jobDormant(o *batchv1.Job) bool {
	return o.Spec.Suspend != nil && *o.Spec.Suspend || slices.ContainsFunc(o.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
}
