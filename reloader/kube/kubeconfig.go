package kube

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config returns how to reach the API server that o names. It is the only place that decides which cluster a process talks to, and it
// sends nothing.
func Config(o Options) (*rest.Config, error) {
	config, _, err := load(o, rest.InClusterConfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = o.UserAgent
	return config, nil
}

// load finds the API server's address and credentials, and Reroll's own namespace. A user of o to impersonate replaces that of the kubeconfig
// with its groups.
func load(o Options, inCluster func() (*rest.Config, error)) (*rest.Config, string, error) {
	config, namespace, err := find(o, inCluster)
	if err == nil && o.As != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: o.As}
	}
	return config, namespace, err
}

func find(o Options, inCluster func() (*rest.Config, error)) (*rest.Config, string, error) {
	var noPod error
	if o.Kubeconfig == "" && o.Context == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		var config *rest.Config
		if config, noPod = inCluster(); noPod == nil {
			return config, firstOf(o.Namespace, PodNamespace(), "default"), nil
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.Context})
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) && noPod != nil && !errors.Is(noPod, rest.ErrNotInCluster) {
		return nil, "", fmt.Errorf("service account of the pod: %w", noPod)
	}
	if clientcmd.IsEmptyConfig(err) {
		return nil, "", errors.New("kubeconfig: there is none, and no pod of a cluster to run in: give --kubeconfig, or set KUBECONFIG")
	}
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	return config, firstOf(o.Namespace, namespace), nil
}

// PodNamespace returns the namespace that the kubelet mounts into every pod with a service account; empty outside of pods.
func PodNamespace() string {
	data, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
