package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrNoDispatcher means that no pod in Reroll's own namespace decides and rolls.
var ErrNoDispatcher = errors.New("no pod of a dispatcher is there")

// Contends reports whether the dispatchers in Reroll's own namespace stand for a Lease, by the arguments of their pods. It fails with
// ErrNoDispatcher if there are none.
func (c *Cluster) Contends(ctx context.Context) (bool, error) {
	pods, err := c.client.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("list the pods of namespace %s: %w", c.Namespace, err)
	}
	found := false
	for i := range pods.Items {
		for _, container := range pods.Items[i].Spec.Containers {
			dispatches, contends := standing(container)
			if contends {
				return true, nil
			}
			found = found || dispatches
		}
	}
	if !found {
		return false, fmt.Errorf("namespace %s: %w", c.Namespace, ErrNoDispatcher)
	}
	return false, nil
}

// standing reports whether a container decides and rolls, and whether it stands for a Lease, which a dry run does not.
func standing(c corev1.Container) (dispatches, contends bool) {
	words := slices.Concat(c.Command, c.Args)
	has := func(flag string) bool { return slices.Contains(words, flag) || slices.Contains(words, flag+"=true") }
	dispatches = slices.Contains(words, "serve") || slices.Contains(words, "dispatch")
	return dispatches, dispatches && has("--enable-ha") && !has("--dry-run")
}
