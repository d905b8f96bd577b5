package kube

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options say how to reach an API server.
type Options struct {
	// Kubeconfig and Context choose a kubeconfig file and a context in it. If both are empty and the process runs in a cluster, that
	// cluster is used; outside, the usual files are.
	Kubeconfig, Context string
	// QPS and Burst bound the requests per second; both are those of client-go.
	QPS   float32
	Burst int
	// Namespace is Reroll's own; if empty, it is that of the pod or of the kubeconfig's context.
	Namespace string
	UserAgent string
	// KeepAnnotation says which annotations of workloads and configs are kept in memory.
	KeepAnnotation func(key string) bool
	// DryRun promises that nothing is written.
	DryRun bool
}

// Cluster is a connection to one API server.
type Cluster struct {
	options  Options
	client   kubernetes.Interface
	metadata metadata.Interface
	// Namespace is Reroll's own namespace.
	Namespace string
	// UID is that of the namespace kube-system, which stands for the cluster's identity.
	UID string
}

// connectTime bounds the first request to an API server.
const connectTime = 10 * time.Second

// Connect reaches the API server once and returns an error in one line if that fails.
func Connect(ctx context.Context, o Options) (*Cluster, error) {
	config, namespace, err := load(o)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst, config.UserAgent = o.QPS, o.Burst, o.UserAgent
	config.WarningHandlerWithContext = rest.NoWarnings{}
	typed := rest.CopyConfig(config)
	typed.AcceptContentTypes, typed.ContentType = "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(typed)
	if err != nil {
		return nil, fmt.Errorf("API server configuration: %w", err)
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("API server configuration: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	system, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("API server %s: %w", config.Host, err)
	}
	return &Cluster{options: o, client: client, metadata: meta, Namespace: namespace, UID: string(system.UID)}, nil
}

// load finds the API server's address and credentials, and Reroll's own namespace.
func load(o Options) (*rest.Config, string, error) {
	if o.Kubeconfig == "" && o.Context == "" {
		if config, err := rest.InClusterConfig(); err == nil {
			return config, firstOf(o.Namespace, podNamespace(), "default"), nil
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.Context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	return config, firstOf(o.Namespace, namespace), nil
}

// podNamespace returns the namespace that the kubelet mounts into every pod with a service account.
func podNamespace() string {
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

// Healthy returns nil if the API server answers.
func (c *Cluster) Healthy(ctx context.Context) error {
	if err := c.client.Discovery().RESTClient().Get().AbsPath("/livez").Do(ctx).Error(); err != nil {
		return fmt.Errorf("API server: %w", err)
	}
	return nil
}
