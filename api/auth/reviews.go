package auth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// reviewer asks the API server about tokens. Kubernetes' own library for this and for rights brings CEL, gRPC and OpenTelemetry: a tenth of
// the binary.
type reviewer struct {
	client    kubernetes.Interface
	audiences []string
}

// AuthenticateToken returns whose token it is; ok is false if it is none, or is for none of the audiences.
func (r reviewer) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	spec := authenticationv1.TokenReviewSpec{Token: token, Audiences: r.audiences}
	review, err := ask(ctx, func(ctx context.Context) (*authenticationv1.TokenReview, error) {
		return r.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{Spec: spec}, metav1.CreateOptions{})
	})
	if err != nil {
		return nil, false, err
	}
	status := review.Status
	ours := len(r.audiences) == 0 || slices.ContainsFunc(status.Audiences, func(a string) bool { return slices.Contains(r.audiences, a) })
	if !status.Authenticated || !ours {
		return nil, false, nil
	}
	who := &user.DefaultInfo{Name: status.User.Username, UID: status.User.UID, Groups: status.User.Groups, Extra: map[string][]string{}}
	for key, values := range status.User.Extra {
		who.Extra[key] = values
	}
	return &authenticator.Response{User: who}, true, nil
}

// permits reports what the API server says of a right, or has said a moment ago.
func (g *Gate) permits(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (bool, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return false, err
	}
	key := sha256.Sum256(text)
	if answer, known := g.answers.Get(key); known {
		allowed, _ := answer.(bool)
		return allowed, nil
	}
	review, err := ask(ctx, func(ctx context.Context) (*authorizationv1.SubjectAccessReview, error) {
		return g.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	})
	if err != nil {
		return false, err
	}
	allowed := review.Status.Allowed && !review.Status.Denied
	g.answers.Add(key, allowed, remembered)
	return allowed, nil
}

// ask puts a question to the API server, and once more after a failure that may pass.
func ask[A any](ctx context.Context, question func(context.Context) (A, error)) (answer A, err error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTime)
	defer cancel()
	err = retry.OnError(backoff, passing, func() error {
		answer, err = question(ctx)
		return err
	})
	if err != nil {
		return answer, fmt.Errorf("ask the API server: %w", err)
	}
	return answer, nil
}

// passing reports whether what failed may go well a moment later.
func passing(err error) bool {
	_, later := apierrors.SuggestsClientDelay(err)
	return later || net.IsConnectionReset(err) || net.IsHTTP2ConnectionLost(err) || apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err)
}
