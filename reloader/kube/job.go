package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

var (
	errFinished   = errors.New("it has finished")
	errReplaced   = errors.New("another one has taken its place")
	errStillThere = errors.New("the deleted one still exists")
)

func (c *Cluster) jobsIn(namespace string) dynamic.ResourceInterface {
	return c.dynamic.Resource(workload.Job.Resource).Namespace(namespace)
}

// recreate deletes the Job and creates it again with the marks in it. A Secret holds the new Job from before the delete until it is created:
// whatever fails in between, RecoverJobs continues from there.
func (c *Cluster) recreate(ctx context.Context, kind workload.Kind, w *workload.Workload, r mark.Roll) (*workload.Workload, error) {
	job, err := c.jobsIn(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		return nil, err
	case job.GetDeletionTimestamp() != nil && c.keeps(ctx, job):
		return nil, fmt.Errorf("create %s again: %w", w.Ref(), errStillThere)
	case job.GetDeletionTimestamp() != nil:
		return nil, gone(kind, w.Name)
	case finished(job):
		return nil, moved(kind, w.Name, errFinished)
	}
	changed, err := applied(kind, w, job, r)
	if err != nil {
		return nil, err
	}
	b, err := c.backUp(ctx, cleaned(changed), job)
	if err != nil {
		return nil, err
	}
	// The preconditions name the version that was read: what was changed in it since would be lost. Its pods end in the background.
	uid, version, background := job.GetUID(), job.GetResourceVersion(), metav1.DeletePropagationBackground
	err = c.jobsIn(w.Namespace).Delete(ctx, w.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}, PropagationPolicy: &background,
	})
	if err != nil && !apierrors.IsNotFound(err) { // if it is gone, another process was faster, and may have died since
		err = fmt.Errorf("delete %s, to create it again: %w", b, err)
		if !refused(err) { // it may have been deleted
			return nil, err
		}
		return nil, errors.Join(err, c.dropBackup(ctx, b))
	}
	if job, err = c.restore(ctx, b); err != nil {
		return nil, err
	}
	for key, value := range stamps(r) {
		if job.GetAnnotations()[key] != value { // what another process was faster to create is decided about by itself
			return nil, moved(kind, w.Name, errReplaced)
		}
	}
	typed := &batchv1.Job{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(job.Object, typed); err != nil {
		return nil, fmt.Errorf("decode %s: %w", w.Ref(), err)
	}
	return kind.Strip(typed, c.options.KeepAnnotation)
}

// refused reports whether err is an answer of an API server that has done nothing.
func refused(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsInvalid(err) ||
		apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsTooManyRequests(err)
}

// restore creates a deleted Job of its backup, drops the backup, and returns what then stands in the place of the deleted Job. If its
// namespace is deleted, it drops the backup and returns that the Job is not found. Other errors hide their kind: the Job is still to be
// created.
func (c *Cluster) restore(ctx context.Context, b backup) (*unstructured.Unstructured, error) {
	jobs := c.jobsIn(b.Job.GetNamespace())
	job, err := jobs.Create(ctx, b.Job, metav1.CreateOptions{FieldManager: workload.MarkManager})
	if apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil, errors.Join(gone(workload.Job, b.Job.GetName()), c.dropBackup(ctx, b))
	}
	if apierrors.IsAlreadyExists(err) {
		job, err = jobs.Get(ctx, b.Job.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && job.GetUID() == b.UID {
			err = errStillThere
		}
	}
	if err != nil {
		return nil, fmt.Errorf("create %s again (Secret %s/%s keeps it): %v", b, c.Namespace, b.secretName(), err)
	}
	_ = c.dropBackup(ctx, b) // RecoverJobs drops it otherwise
	return job, nil
}

// finished reports whether the Job is done, or is about to end its last pods.
func finished(job *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	ends := []any{string(batchv1.JobComplete), string(batchv1.JobFailed), string(batchv1.JobSuccessCriteriaMet), string(batchv1.JobFailureTarget)}
	return slices.ContainsFunc(conditions, func(condition any) bool {
		fields, _ := condition.(map[string]any)
		return fields["status"] == string(metav1.ConditionTrue) && slices.Contains(ends, fields["type"])
	})
}

// generatedLabels are what the API server writes on Jobs, and demands to write itself, unless their selector is manual.
var generatedLabels = []string{"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"}

// cleaned returns the Job without what the API server and its controllers have written, so that it can be created again. Fields
// that this version does not know stay.
func cleaned(job *unstructured.Unstructured) *unstructured.Unstructured {
	live := job.DeepCopy()
	spec, _, _ := unstructured.NestedMap(live.Object, "spec")
	out := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	out.SetGroupVersionKind(workload.Job.Resource.GroupVersion().WithKind(workload.Job.Kind))
	out.SetName(live.GetName())
	out.SetNamespace(live.GetNamespace())
	out.SetAnnotations(live.GetAnnotations())
	out.SetLabels(live.GetLabels())
	out.SetOwnerReferences(live.GetOwnerReferences())
	out.SetFinalizers(slices.DeleteFunc(live.GetFinalizers(), func(f string) bool {
		return f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents
	}))
	if manual, _, _ := unstructured.NestedBool(spec, "manualSelector"); manual {
		return out
	}
	unstructured.RemoveNestedField(out.Object, "spec", "selector")
	for _, label := range generatedLabels {
		unstructured.RemoveNestedField(out.Object, "metadata", "labels", label)
		unstructured.RemoveNestedField(out.Object, "spec", "template", "metadata", "labels", label)
	}
	return out
}
