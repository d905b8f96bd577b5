package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	// execTime bounds a command in a pod, and execBytes what it writes to standard error.
	execTime  = 10 * time.Second
	execBytes = 64 << 10
)

// Pods finds the running pods of workloads, refreshes their volumes and runs commands in them.
type Pods struct {
	cluster *Cluster
	// mu guards servers, which were read at readAt.
	mu      sync.Mutex
	servers []netip.Addr
	readAt  time.Time
}

// NewPods returns what reaches pods through the connection of c. What it writes passes the fence of c.
func NewPods(c *Cluster) *Pods { return &Pods{cluster: c} }

// Running returns the pods of w that run and are not being deleted. It fails if a running pod that w selects does not say whether it is of w.
func (p *Pods) Running(ctx context.Context, w *workload.Workload) (found []workload.RunningPod, err error) {
	if w.Selector == "" {
		return nil, nil
	}
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return p.cluster.client.CoreV1().Pods(w.Namespace).List(ctx, o)
	})
	pages.PageSize, pages.PageBufferSize = maxPods, 1
	running := metav1.ListOptions{LabelSelector: w.Selector, FieldSelector: fields.OneTermEqualSelector("status.phase", string(corev1.PodRunning)).String()}
	err = pages.EachListItem(ctx, running, func(obj runtime.Object) error {
		pod, ok := obj.(*corev1.Pod)
		if !ok || pod.DeletionTimestamp != nil {
			return nil
		}
		owns, known := w.Owns(pod)
		if !known {
			return fmt.Errorf("pod %s/%s: its controller does not say whether it is of %s", pod.Namespace, pod.Name, w.Ref())
		}
		if owns {
			found = append(found, workload.RunningPodOf(pod))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Refresh writes value into the annotation workload.RefreshKey of pod, so that its kubelet refreshes the volumes at once. A value that it has
// already changes nothing. The error is NotFound if the pod is gone, or another one has its name.
func (p *Pods) Refresh(ctx context.Context, pod workload.RunningPod, value string) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": map[string]string{workload.RefreshKey: value}}})
	if err != nil {
		return fmt.Errorf("encode the patch of pod %s: %w", pod.Name, err)
	}
	_, err = p.cluster.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	if cause, found := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid); found && cause.Field == "metadata.uid" {
		return apierrors.NewNotFound(corev1.Resource("pods"), pod.Name)
	}
	return err
}

// Secret returns the data of a Secret.
func (p *Pods) Secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	s, err := p.cluster.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return s.Data, nil
}

// serversTime is how long the addresses of the API servers are kept.
const serversTime = time.Minute

// Servers returns the addresses of the API servers, at most a minute old. It fails with ErrLeadershipLost where the fence refuses writes: what is
// about to be asked of a pod is like a write.
func (p *Pods) Servers(ctx context.Context) ([]netip.Addr, error) {
	if p.cluster.fence.closed() {
		return nil, ErrLeadershipLost
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.servers != nil && time.Since(p.readAt) < serversTime {
		return p.servers, nil
	}
	urls, err := p.cluster.CanaryAddresses(ctx)
	if err != nil {
		return nil, err
	}
	known, _, err := rest.DefaultServerUrlFor(p.cluster.config)
	if err != nil {
		return nil, fmt.Errorf("API server %s: %w", p.cluster.config.Host, err)
	}
	var found []netip.Addr
	for _, text := range append(urls, known.String()) {
		u, err := url.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("API server %s: %w", text, err)
		}
		addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
		if err != nil {
			return nil, fmt.Errorf("API server %s: %w", u.Hostname(), err)
		}
		for _, address := range addresses {
			found = append(found, address.Unmap())
		}
	}
	p.servers, p.readAt = found, time.Now()
	return found, nil
}

var (
	errExecTime   = fmt.Errorf("the command did not end within %s", execTime)
	errExecOutput = fmt.Errorf("the command wrote more than %d KiB to standard error", execBytes>>10)
	// errExec stands for errors that may repeat what the command wrote.
	errExec = errors.New("the command could not be run")
)

// Exec runs a command without input in a container of pod. Whatever it writes is thrown away. The error is one of the Kubernetes
// API, or has the exit code, or says which limit the command broke.
func (p *Pods) Exec(ctx context.Context, pod workload.RunningPod, container string, command []string) error {
	address := p.cluster.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stderr: true}, scheme.ParameterCodec).URL()
	executor, err := remotecommand.NewWebSocketExecutor(p.cluster.fence.around(p.cluster.config), http.MethodGet, address.String())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, execTime, errExecTime)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ctx = klog.NewContext(ctx, klog.Logger{}) // a connection that is cut is not worth a line of the log
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stderr: &limited{left: execBytes, full: func() { stop(errExecOutput) }}})
	var exit exec.CodeExitError
	var refused *httpstream.UpgradeFailureError
	var status *apierrors.StatusError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &exit):
		return fmt.Errorf("the command ended with exit code %d", exit.Code)
	case errors.Is(err, ErrLeadershipLost):
		return ErrLeadershipLost
	case errors.As(err, &refused) && errors.As(refused.Cause, &status):
		return status
	}
	return errExec
}

// limited throws away what is written and calls full once that is too much.
type limited struct {
	left int
	full func()
}

func (b *limited) Write(data []byte) (int, error) {
	if b.left -= len(data); b.left < 0 {
		b.full()
	}
	return len(data), nil
}
