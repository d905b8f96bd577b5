package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
	"k8s.io/klog/v2"

	"github.com/reroll-dev/reroll/reloader/digest"
)

// Options say how to reach an API server.
type Options struct {
	// Kubeconfig and Context choose a kubeconfig file and a context in it. If both are empty and KUBECONFIG is not set, a process in a
	// cluster uses its service account, and any other process the usual files.
	Kubeconfig, Context string
	// QPS and Burst bound the requests per second, as in client-go.
	QPS   float32
	Burst int
	// Namespace is Reroll's own; empty: that of the pod, or of the kubeconfig's context.
	Namespace string
	UserAgent string
	// KeepAnnotation says which annotations of workloads and configs are kept in memory.
	KeepAnnotation func(key string) bool
	// Scope says which workloads are watched; the zero value is all but Rollouts.
	Scope Scope
	// Logger gets what concerns single objects. Nil disables logging.
	Logger *slog.Logger
	// ResourceSelector chooses configs by their labels; the others are Unselected. Nil chooses all.
	ResourceSelector labels.Selector
	// DryRun promises that nothing is written.
	DryRun bool
}

// connection is how one API server is reached, and what Reroll does there that needs no more.
type connection struct {
	options  Options
	config   *rest.Config
	client   kubernetes.Interface
	metadata metadata.Interface
	dynamic  dynamic.Interface
	// vital serves health, the Lease and certificates: it has no rate limit, and each of its requests takes at most vitalTime.
	vital kubernetes.Interface
	// events sends Events. Its rate limit is a quarter of the others'.
	events kubernetes.Interface
	// fence refuses writes after the last term of leadership.
	fence fence
	// servers are the addresses of the API servers; nil before they are asked for.
	servers atomic.Pointer[servers]
	// Namespace is Reroll's own namespace.
	Namespace string
	// UID is that of the namespace kube-system and identifies the cluster. It is empty if reading it is forbidden.
	UID string
}

// Cluster is a connection to one API server, and what Reroll does there.
type Cluster struct {
	*connection
	// ring has the digest keys once DigestKeys has read them. They sign what is kept of Jobs.
	ring atomic.Pointer[digest.Ring]
	// watcher is the one of Watch; nil before it is called.
	watcher atomic.Pointer[watcher]
	// term is the context of the last term of leadership.
	term atomic.Pointer[context.Context]
	// proofs has the moment of the newest update seen of each SecretProviderClass.
	proofs sync.Map
}

func newCluster(c *connection) *Cluster { return &Cluster{connection: c} }

const (
	// connectTime bounds the first request to an API server.
	connectTime = 10 * time.Second
	// vitalTime bounds one health check and one renewal of the Lease, so that a second one fits into its deadline.
	vitalTime = 4 * time.Second
	// fieldManager is the manager of everything that Reroll writes but workloads.
	fieldManager = "reroll"
)

// Connect reaches the API server once and returns an error in one line if that fails.
func Connect(ctx context.Context, o Options) (*Cluster, error) {
	config, namespace, err := load(o, rest.InClusterConfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst, config.UserAgent = o.QPS, o.Burst, o.UserAgent
	config.WarningHandlerWithContext = rest.NoWarnings{}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	c := newCluster(&connection{options: o, config: config, Namespace: namespace})
	if err := c.makeClients(); err != nil {
		return nil, fmt.Errorf("API server configuration: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	system, err := c.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err == nil {
		c.UID = string(system.UID)
	} else if !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("API server %s: %w", config.Host, err)
	}
	return c, nil
}

func (c *connection) makeClients() error {
	typed := rest.CopyConfig(c.config)
	typed.AcceptContentTypes, typed.ContentType = "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf"
	vital := rest.CopyConfig(typed)
	vital.QPS, vital.Timeout = -1, vitalTime
	events := rest.CopyConfig(typed)
	events.QPS, events.Burst = typed.QPS/4, (typed.Burst+3)/4
	var errs [5]error
	c.client, errs[0] = kubernetes.NewForConfig(c.fence.around(typed))
	c.vital, errs[1] = kubernetes.NewForConfig(vital)
	c.metadata, errs[2] = metadata.NewForConfig(c.fence.around(c.config))
	c.dynamic, errs[3] = dynamic.NewForConfig(c.fence.around(c.config))
	c.events, errs[4] = kubernetes.NewForConfig(c.fence.around(events))
	return errors.Join(errs[:]...)
}

// each calls f for every object that list returns, until f fails. It asks for pages of o.Limit, or else of 500.
func each[T any, List runtime.Object](
	ctx context.Context, list func(context.Context, metav1.ListOptions) (List, error), o metav1.ListOptions, f func(T) error,
) error {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(ctx, o) })
	pages.PageBufferSize = 1
	return pages.EachListItem(ctx, o, func(obj runtime.Object) error { return f(obj.(T)) })
}

// upsert updates the version of an object that it names, or creates it if it names none.
func upsert[T metav1.Object](ctx context.Context, client interface {
	Create(ctx context.Context, o T, options metav1.CreateOptions) (T, error)
	Update(ctx context.Context, o T, options metav1.UpdateOptions) (T, error)
}, o T,
) (T, error) {
	if o.GetResourceVersion() == "" {
		return client.Create(ctx, o, metav1.CreateOptions{FieldManager: fieldManager})
	}
	return client.Update(ctx, o, metav1.UpdateOptions{FieldManager: fieldManager})
}

// LogTo sends the logs of the Kubernetes libraries in this process to logger. By default they go to standard error in a format of their own.
func LogTo(logger *slog.Logger) { klog.SetSlogLogger(logger) }

// Healthy returns nil if the API server answers. It does not wait behind the rate limit.
func (c *Cluster) Healthy(ctx context.Context) error {
	if err := c.vital.Discovery().RESTClient().Get().AbsPath("/livez").Do(ctx).Error(); err != nil {
		return fmt.Errorf("API server: %w", err)
	}
	return nil
}

// Right is one thing that a user may or may not do. An empty Namespace stands for all, and an empty Name for any.
type Right struct {
	Verb, Group, Resource, Name, Namespace string
}

// May asks the API server whether the user of this connection has a right. Asking needs none.
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

// WhoAmI returns the user of this connection; empty if the API server does not say.
func (c *Cluster) WhoAmI(ctx context.Context) string {
	review, err := c.client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return ""
	}
	return review.Status.UserInfo.Username
}

// Terminating reports whether a namespace is being deleted, or is gone; false if namespaces may not be read.
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
