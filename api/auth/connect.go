package auth

import (
	"context"
	"errors"
	"fmt"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// Rate of questions to the API server, for each kind of them: what is not remembered costs one.
const reviewQPS, reviewBurst = 50, 100

// connect returns a client of the API server with a rate limit of its own. Clients that share a limit wait for each other.
func connect(api *rest.Config, qps float32, burst int) (kubernetes.Interface, error) {
	config := rest.CopyConfig(api)
	config.ContentType = runtime.ContentTypeJSON
	config.RateLimiter = limiter{flowcontrol.NewTokenBucketRateLimiter(qps, burst)}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("API server configuration: %w", err)
	}
	return client, nil
}

// limiter is a rate limit. Anyone who waits for it in vain was not asked about, which says nothing about them: client-go's own error for that has no type,
// and would be taken for a refusal.
type limiter struct{ flowcontrol.RateLimiter }

// Wait returns when there is room for another request, or fails if there is none before ctx ends.
func (l limiter) Wait(ctx context.Context) error {
	if err := l.RateLimiter.Wait(ctx); err != nil {
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return nil
}

// unreachable reports whether err is of the way to the API server, or the API server's own: that it does not answer, that it is not well, or
// that we may not ask it.
func unreachable(err error) bool {
	var network net.Error
	var answer apierrors.APIStatus
	return errors.As(err, &network) || errors.As(err, &answer) || errors.Is(err, context.DeadlineExceeded)
}
