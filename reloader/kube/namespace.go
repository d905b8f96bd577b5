package kube

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Terminating reports whether a namespace is being deleted, or is gone. Who may not read namespaces is told that it is not.
func (c *Cluster) Terminating(ctx context.Context, namespace string) (bool, error) {
	found, err := c.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsForbidden(err):
		return false, nil
	case err != nil:
		return false, err
	}
	return found.DeletionTimestamp != nil, nil
}
