package auth

import (
	"context"
	"errors"
	"fmt"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Rate of questions to the API server: tokens and rights that are not remembered cost one each, and anybody can make up tokens.
const reviewQPS, reviewBurst = 50, 100

// connect returns a client of the API server that o names.
func connect(o Options) (kubernetes.Interface, error) {
	config, err := load(o)
	if err != nil {
		return nil, fmt.Errorf("--auth needs an API server: %w", err)
	}
	config.QPS, config.Burst, config.UserAgent = reviewQPS, reviewBurst, o.UserAgent
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("API server configuration: %w", err)
	}
	return client, nil
}

func load(o Options) (*rest.Config, error) {
	if o.Kubeconfig == "" && o.Context == "" {
		config, err := rest.InClusterConfig()
		if !errors.Is(err, rest.ErrNotInCluster) {
			return config, err
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.Context}).ClientConfig()
}

// unreachable reports whether err is of the way to the API server, or the API server's own: that it does not answer, that it is not well, or
// that we may not ask it.
func unreachable(err error) bool {
	var network net.Error
	var answer apierrors.APIStatus
	return errors.As(err, &network) || errors.As(err, &answer) || errors.Is(err, context.DeadlineExceeded)
}
