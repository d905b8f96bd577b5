package kube

import (
	"context"
	"fmt"
	"maps"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	// instantiateKey and its value are what kubectl writes on a Job that it makes of a CronJob.
	instantiateKey = "cronjob.kubernetes.io/instantiate"
	instantiated   = "manual"
)

// startJob makes a Job of the CronJob's template with the marks in it, and leaves the CronJob as it is: its own Jobs start with the
// new content anyway. The Job is named after the roll, so that a second attempt finds the first one's Job. The concurrency policy
// binds the schedule alone: as with `kubectl create job --from`, the Job starts also while another one of the CronJob runs.
func (c *Cluster) startJob(ctx context.Context, kind workload.Kind, w *workload.Workload, r mark.Roll) (*workload.Workload, error) {
	cronJob, err := c.dynamic.Resource(kind.Resource).Namespace(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if cronJob.GetDeletionTimestamp() != nil {
		return nil, gone(kind, w.Name)
	}
	if cronJob, err = applied(kind, w, cronJob, r); err != nil {
		return nil, err
	}
	job, err := jobOf(cronJob, r)
	if err != nil {
		return nil, fmt.Errorf("make a Job of %s: %w", w.Ref(), err)
	}
	_, err = c.jobsIn(w.Namespace).Create(ctx, job, metav1.CreateOptions{FieldManager: workload.MarkManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("make a Job of %s: %w", w.Ref(), err)
	}
	return w, nil
}

// jobOf returns the Job of a CronJob that has the marks of r.
func jobOf(cronJob *unstructured.Unstructured, r mark.Roll) (*unstructured.Unstructured, error) {
	template, _, err := unstructured.NestedMap(cronJob.Object, "spec", "jobTemplate")
	if err != nil {
		return nil, err
	}
	from := &unstructured.Unstructured{Object: template}
	annotations := from.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, stamps(r))
	annotations[instantiateKey] = instantiated

	job := &unstructured.Unstructured{Object: map[string]any{"spec": template["spec"]}}
	job.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	job.SetName(jobName(cronJob.GetName(), r.Name))
	job.SetNamespace(cronJob.GetNamespace())
	job.SetLabels(from.GetLabels())
	job.SetAnnotations(annotations)
	// Without blockOwnerDeletion, which would need permission for the CronJob's finalizers.
	isController := true
	job.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "CronJob",
		Name: cronJob.GetName(), UID: cronJob.GetUID(), Controller: &isController,
	}})
	return job, nil
}

// jobName joins the two names; the CronJob's is cut so that the whole fits into the label that a Job's pods carry.
func jobName(cronJob, roll string) string {
	suffix := "-" + roll
	cut := cronJob[:min(len(cronJob), validation.DNS1123LabelMaxLength-len(suffix))]
	return strings.TrimRight(cut, "-.") + suffix
}
