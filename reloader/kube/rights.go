package kube

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Right is one thing that somebody may or may not do. An empty Namespace stands for all, and an empty Name for any.
type Right struct {
	Verb, Group, Resource, Name, Namespace string
}

// May asks the API server whether this connection, or whom it acts as, may do something. It needs no right itself.
func (c *Cluster) May(ctx context.Context, r Right) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: r.Verb, Group: r.Group, Resource: r.Resource, Name: r.Name, Namespace: r.Namespace,
		},
	}}
	answer, err := c.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask for the right to %s %s: %w", r.Verb, r.Resource, err)
	}
	return answer.Status.Allowed, nil
}
