package kube

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config returns how to reach the API server that o names. It sends nothing.
func Config(o Options) (*rest.Config, error) {
	config, _, err := load(o, rest.InClusterConfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = o.UserAgent
	return config, nil
}

// load is the only place that decides which cluster a process uses, and which namespace is Reroll's own.
func load(o Options, inCluster func() (*rest.Config, error)) (config *rest.Config, namespace string, err error) {
	var noPod error
	if o.Kubeconfig == "" && o.Context == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		config, noPod = inCluster()
		namespace = cmp.Or(PodNamespace(), "default")
	}
	if config == nil {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = o.Kubeconfig
		loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.Context})
		config, err = loader.ClientConfig()
		if clientcmd.IsEmptyConfig(err) && noPod != nil && !errors.Is(noPod, rest.ErrNotInCluster) {
			return nil, "", fmt.Errorf("service account of the pod: %w", noPod)
		}
		if clientcmd.IsEmptyConfig(err) {
			return nil, "", errors.New("found no kubeconfig, and this is not a pod: set --kubeconfig or KUBECONFIG")
		}
		if err == nil {
			namespace, _, err = loader.Namespace()
		}
		if err != nil {
			return nil, "", fmt.Errorf("kubeconfig: %w", err)
		}
	}
	return config, cmp.Or(o.Namespace, namespace), nil
}

// PodNamespace returns the namespace that the kubelet mounts into pods with a service account; empty outside of pods.
func PodNamespace() string {
	data, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
