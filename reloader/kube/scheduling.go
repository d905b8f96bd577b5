package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	// schedulingPage is how many workloads are listed at a time to find those whose pods nobody schedules.
	schedulingPage = 500
	// schedulingTries is how often a workload is read again that others write meanwhile.
	schedulingTries = 5
)

// KeepsScheduling reports whether annotations of that key must be kept for ReleaseScheduling to see what it is to take away.
func KeepsScheduling(key string) bool {
	return key == strategy.SchedulingKey || key == strategy.WaitsForKey
}

// ReleaseScheduling has the pods of every workload of a namespace scheduled again that admission webhooks have kept from it; the empty
// namespace is all. It tells of each, and goes on where one fails.
func (c *Cluster) ReleaseScheduling(ctx context.Context, namespace string, tell func(reloader.WorkloadRef)) error {
	var errs []error
	for _, kind := range []workload.Kind{workload.Deployment, workload.StatefulSet, workload.DaemonSet, workload.DeploymentConfig} {
		err := c.releaseKind(ctx, kind, namespace, tell)
		if kind.Optional && (apierrors.IsNotFound(err) || apierrors.IsForbidden(err)) {
			continue // it is not served here, or was never ours
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%ss: %w", kind.Kind, err))
		}
	}
	return errors.Join(errs...)
}

func (c *Cluster) releaseKind(ctx context.Context, kind workload.Kind, namespace string, tell func(reloader.WorkloadRef)) error {
	var errs []error
	for page := (metav1.ListOptions{Limit: schedulingPage}); ; {
		list, err := c.dynamic.Resource(kind.Resource).Namespace(namespace).List(ctx, page)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		for _, u := range list.Items {
			raw, err := u.MarshalJSON()
			if err != nil {
				return fmt.Errorf("encode %s/%s: %w", u.GetNamespace(), u.GetName(), err)
			}
			w, err := kind.Strip(json.RawMessage(raw), c.options.KeepAnnotation)
			if err != nil || !strategy.Unscheduled(w) {
				continue // what cannot be read was never written by us
			}
			if err := c.releaseOne(ctx, kind, w); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", w.Ref(), err))
				continue
			}
			tell(w.Ref())
		}
		if page.Continue = list.GetContinue(); page.Continue == "" {
			return errors.Join(errs...)
		}
	}
}

// releaseOne writes w, which is read again if others have written it meanwhile. Who is gone is let go.
func (c *Cluster) releaseOne(ctx context.Context, kind workload.Kind, w *workload.Workload) (err error) {
	for range schedulingTries {
		ops := append(strategy.Precondition(w), strategy.ReleaseScheduling(w)...)
		_, err = c.patch(ctx, kind, w, strategy.Roll{Ops: ops, FieldManager: workload.MarkManager})
		if !apierrors.IsConflict(err) && !apierrors.IsInvalid(err) {
			break
		}
		live, readErr := c.readAlone(ctx, w.Ref())
		if readErr != nil {
			err = readErr
			break
		}
		if !strategy.Unscheduled(live) {
			return nil
		}
		w = live
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// DropAdmission deletes a MutatingWebhookConfiguration, so that API servers ask nobody any more; one that is gone is none.
func (c *Cluster) DropAdmission(ctx context.Context, configuration string) error {
	err := c.vital.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(ctx, configuration, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
