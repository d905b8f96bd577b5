package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

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

const (
	// goneTime bounds the wait of one Roll for a deleted Job to go, which takes as long as its finalizers do: others wait for whoever waits. Its
	// manifest is safe, and the next Roll goes on, or RecoverJobs does.
	goneTime = 2 * time.Second
	// gonePoll is how often it is looked whether it has.
	gonePoll = 200 * time.Millisecond
)

var (
	errBusy     = errors.New("it is being recreated already")
	errFinished = errors.New("it has finished")
	errReplaced = errors.New("another one has taken its place")
)

func (c *Cluster) jobsIn(namespace string) dynamic.ResourceInterface {
	return c.dynamic.Resource(workload.Job.Resource).Namespace(namespace)
}

// recreate deletes the Job and creates it again with the marks in it. Before the delete, the new one's manifest is safe in a Secret.
// Each step may fail or be the last of the process: Roll, or else RecoverJobs, then continues from the Secret.
func (c *Cluster) recreate(ctx context.Context, kind workload.Kind, w *workload.Workload, r mark.Roll) (*workload.Workload, error) {
	if !c.jobs.begin(w.UID) {
		return nil, fmt.Errorf("recreate %s: %w", w.Ref(), errBusy)
	}
	defer c.jobs.end(w.UID)
	for range 2 { // if another process replaces the Job at the same time, the second look finds what it made
		job, err := c.jobsIn(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return c.resume(ctx, kind, w, r, nil)
		case err != nil:
			return nil, err
		case job.GetUID() != w.UID || job.GetDeletionTimestamp() != nil:
			return c.resume(ctx, kind, w, r, job)
		}
		job, err = c.replace(ctx, kind, w, job, r)
		if errors.Is(err, errReplaced) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return c.rolledJob(kind, job, r)
	}
	return nil, moved(kind, w.Name, errReplaced)
}

// replace puts what r makes of job in the place of job. It fails with errReplaced, and has changed nothing, if job is not the newest
// version.
func (c *Cluster) replace(
	ctx context.Context, kind workload.Kind, w *workload.Workload, job *unstructured.Unstructured, r mark.Roll,
) (*unstructured.Unstructured, error) {
	if finished(job) {
		return nil, moved(kind, job.GetName(), errFinished)
	}
	changed, err := applied(kind, w, job, r)
	if err != nil {
		return nil, err
	}
	m := manifest{job: cleaned(changed), uid: job.GetUID(), version: job.GetResourceVersion(), kept: time.Now()}
	if err := c.putManifest(ctx, m); err != nil {
		return nil, err
	}
	switch err := c.deleteJob(ctx, job); {
	case apierrors.IsConflict(err):
		return nil, errors.Join(errReplaced, c.dropManifest(ctx, m))
	case refused(err):
		return nil, errors.Join(fmt.Errorf("delete %s, to create it again: %w", m, err), c.dropManifest(ctx, m))
	case err != nil && !apierrors.IsNotFound(err): // if it is gone, another process may have been faster, and died
		c.jobs.leave() // it is unknown whether it was deleted
		return nil, fmt.Errorf("delete %s, to create it again: %w", m, err)
	}
	return c.restore(ctx, m, goneTime)
}

// deleteJob deletes that very version of a Job: what was changed in it since would be lost. Its pods end in the background.
func (c *Cluster) deleteJob(ctx context.Context, job *unstructured.Unstructured) error {
	uid, version, background := job.GetUID(), job.GetResourceVersion(), metav1.DeletePropagationBackground
	return c.jobsIn(job.GetNamespace()).Delete(ctx, job.GetName(), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}, PropagationPolicy: &background,
	})
}

// refused reports whether err is an answer of an API server that has done nothing.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsMethodNotSupported(err) || apierrors.IsTooManyRequests(err)
}

// resume ends what an earlier attempt at the same Job left, if it left something. live is what stands in its place now, if anything
// does.
func (c *Cluster) resume(
	ctx context.Context, kind workload.Kind, w *workload.Workload, r mark.Roll, live *unstructured.Unstructured,
) (*workload.Workload, error) {
	m, err := c.getManifest(ctx, w.UID)
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("manifest of %s: %w", w.Ref(), err)
	case err == nil:
		if live, err = c.restore(ctx, m, goneTime); err != nil {
			return nil, err
		}
	case live == nil || live.GetUID() == w.UID:
		return nil, gone(kind, w.Name)
	}
	return c.rolledJob(kind, live, r)
}

// restore creates a deleted Job of its manifest, waits at most patience for the old one to go, drops the manifest and returns what
// stands in the Job's place then: the new Job, or whatever somebody else was faster to create.
//
// Its errors do not tell their kind: whatever it is, the Job is still to be created.
func (c *Cluster) restore(ctx context.Context, m manifest, patience time.Duration) (*unstructured.Unstructured, error) {
	deadline := time.Now().Add(patience)
	for {
		job, err := c.createJob(ctx, m)
		if err == nil || errors.Is(err, errNamespaceGone) {
			_ = c.dropManifest(ctx, m) // else RecoverJobs sees that nothing is left to do, and drops it
			return job, err
		}
		if !errors.Is(err, errStillThere) || time.Now().After(deadline) {
			c.jobs.leave()
			return nil, fmt.Errorf("create %s again (its manifest is safe in Secret %s/%s): %v", m, c.Namespace, m.secretName(), err)
		}
		select {
		case <-ctx.Done():
			c.jobs.leave()
			return nil, fmt.Errorf("wait for the deleted %s to go: %w", m, context.Cause(ctx))
		case <-time.After(gonePoll):
		}
	}
}

var (
	errStillThere    = errors.New("the deleted one is still there")
	errNamespaceGone = errors.New("its namespace is being deleted")
)

// createJob creates the manifest's Job, or returns the one that has its name already, unless that is the old one.
func (c *Cluster) createJob(ctx context.Context, m manifest) (*unstructured.Unstructured, error) {
	jobs := c.jobsIn(m.job.GetNamespace())
	job, err := jobs.Create(ctx, m.job, metav1.CreateOptions{FieldManager: workload.MarkManager})
	switch {
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil, errors.Join(gone(workload.Job, m.job.GetName()), errNamespaceGone)
	case !apierrors.IsAlreadyExists(err):
		return job, err
	}
	job, err = jobs.Get(ctx, m.job.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && job.GetUID() == m.uid {
		return nil, errStillThere
	}
	return job, err
}

// finished reports whether the Job is done, or ends its last pods because it is.
func finished(job *unstructured.Unstructured) bool {
	typed := &batchv1.Job{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(job.Object, typed) != nil {
		return false
	}
	for _, condition := range typed.Status.Conditions {
		switch condition.Type {
		case batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget:
			if condition.Status == corev1.ConditionTrue {
				return true
			}
		}
	}
	return false
}

// stamped reports whether the Job has the annotations that r writes, so that it is the one that r makes.
func stamped(job *unstructured.Unstructured, r mark.Roll) bool {
	written := stamps(r)
	for key, value := range written {
		if job.GetAnnotations()[key] != value {
			return false
		}
	}
	return len(written) > 0
}

// rolledJob returns the Job that stands in the place of the old one, if it is the one that r makes. Another one, which somebody else
// was faster to create, is to be decided about by itself.
func (c *Cluster) rolledJob(kind workload.Kind, job *unstructured.Unstructured, r mark.Roll) (*workload.Workload, error) {
	if !stamped(job, r) {
		return nil, moved(kind, job.GetName(), errReplaced)
	}
	typed := &batchv1.Job{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(job.Object, typed); err != nil {
		return nil, fmt.Errorf("read Job %s/%s: %w", job.GetNamespace(), job.GetName(), err)
	}
	return kind.Strip(typed, c.options.KeepAnnotation)
}
