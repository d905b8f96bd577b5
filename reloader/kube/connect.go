package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/reloader/digest"
)

// Options say how to reach an API server.
type Options struct {
	// Kubeconfig and Context choose a kubeconfig file and a context in it. If both are empty and so is the environment's KUBECONFIG, a
	// process that runs in a cluster uses that; the usual files are used otherwise.
	Kubeconfig, Context string
	// QPS and Burst bound the requests per second; both are those of client-go.
	QPS   float32
	Burst int
	// Namespace is Reroll's own; if empty, it is that of the pod or of the kubeconfig's context.
	Namespace string
	UserAgent string
	// As is the user to impersonate. Empty: the one that the kubeconfig names, if any.
	As string
	// KeepAnnotation says which annotations of workloads and configs are kept in memory.
	KeepAnnotation func(key string) bool
	// Scope says which workloads are watched; the zero value is all but Rollouts.
	Scope Scope
	// Logger is told of objects that cannot be understood. Nil: nobody is.
	Logger *slog.Logger
	// ResourceSelector chooses configs by their labels; others are told to be Unselected. Nil: all are chosen.
	ResourceSelector labels.Selector
	// DryRun promises that nothing is written.
	DryRun bool
}

// Cluster is a connection to one API server.
type Cluster struct {
	options Options
	// config is how the API server is reached.
	config   *rest.Config
	client   kubernetes.Interface
	metadata metadata.Interface
	dynamic  dynamic.Interface
	// vital is for what must not wait behind the work: it has no rate limit, and no request takes longer than vitalTime.
	vital kubernetes.Interface
	// term is the context of the last term of leadership, and fence refuses what would be written after it.
	term  atomic.Pointer[context.Context]
	fence fence
	// proofs has the moment of the newest update seen of each SecretProviderClass.
	proofs sync.Map
	// optionals has an *optional for each watched kind that the API server may lack.
	optionals sync.Map
	// roster has the workloads that Watch hands on; nil until it does.
	roster atomic.Pointer[roster]
	jobs   recreations
	// ring has the digest keys once they were read.
	ring atomic.Pointer[digest.Ring]
	// Namespace is Reroll's own namespace.
	Namespace string
	// UID is that of the namespace kube-system, which stands for the cluster's identity. It is empty if reading it is forbidden.
	UID string
}

const (
	// connectTime bounds the first request to an API server.
	connectTime = 10 * time.Second
	// vitalTime bounds one look at the API server's health and one renewal of a lease, so that a second one fits into its deadline.
	vitalTime = 4 * time.Second
)

// Connect reaches the API server once and returns an error in one line if that fails.
func Connect(ctx context.Context, o Options) (*Cluster, error) {
	config, namespace, err := load(o, rest.InClusterConfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst, config.UserAgent = o.QPS, o.Burst, o.UserAgent
	config.WarningHandlerWithContext = rest.NoWarnings{}
	c := &Cluster{options: o, config: config, Namespace: namespace}
	if err := c.makeClients(config); err != nil {
		return nil, fmt.Errorf("API server configuration: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if c.UID, err = clusterUID(ctx, c.client); err != nil {
		return nil, fmt.Errorf("API server %s: %w", config.Host, err)
	}
	return c, nil
}

// makeClients makes a client for each way to talk to the API server.
func (c *Cluster) makeClients(config *rest.Config) error {
	typed := rest.CopyConfig(config)
	typed.AcceptContentTypes, typed.ContentType = "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf"
	vital := rest.CopyConfig(typed)
	vital.QPS, vital.Timeout = -1, vitalTime
	var errs [4]error
	c.client, errs[0] = kubernetes.NewForConfig(c.fence.around(typed))
	c.vital, errs[1] = kubernetes.NewForConfig(vital)
	c.metadata, errs[2] = metadata.NewForConfig(config)
	c.dynamic, errs[3] = dynamic.NewForConfig(c.fence.around(config))
	return errors.Join(errs[:]...)
}

// clusterUID returns what stands for the cluster's identity. Who may only read some namespaces is forbidden to, and gets "".
func clusterUID(ctx context.Context, client kubernetes.Interface) (string, error) {
	system, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return string(system.UID), nil
}

// Healthy returns nil if the API server answers. However many requests of the work wait for their turn, this one does not.
func (c *Cluster) Healthy(ctx context.Context) error {
	if err := c.vital.Discovery().RESTClient().Get().AbsPath("/livez").Do(ctx).Error(); err != nil {
		return fmt.Errorf("API server: %w", err)
	}
	return nil
}
