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
	"strings"
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
	// execTime bounds a command.
	execTime time.Duration
	// mu guards servers, which were read at readAt.
	mu      sync.Mutex
	servers []netip.Addr
	readAt  time.Time
}

// NewPods returns what reaches pods through the connection of c. What it writes passes the fence of c.
func NewPods(c *Cluster) *Pods { return &Pods{cluster: c, execTime: execTime} }

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
			found = append(found, w.RunningPodOf(pod))
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
func (p *Pods) Refresh(ctx context.Context, w *workload.Workload, pod workload.RunningPod, value string) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": map[string]string{workload.RefreshKey: value}}})
	if err != nil {
		return fmt.Errorf("encode the patch of pod %s: %w", pod.Name, err)
	}
	_, err = p.cluster.client.CoreV1().Pods(w.Namespace).Patch(ctx, pod.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	if cause, found := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid); found && cause.Field == "metadata.uid" {
		return apierrors.NewNotFound(corev1.Resource("pods"), pod.Name)
	}
	return err
}

// maxToken bounds a token, which is part of the header of a request.
const maxToken = 16 << 10

// Token returns the key token of a Secret, without space around it.
func (p *Pods) Token(ctx context.Context, namespace, secret string) (string, error) {
	s, err := p.cluster.client.CoreV1().Secrets(namespace).Get(ctx, secret, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(s.Data["token"]))
	if token == "" || len(token) > maxToken {
		return "", fmt.Errorf("no key token of 1 to %d bytes in Secret %s/%s", maxToken, namespace, secret)
	}
	return token, nil
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

// ExitError is the exit code of a command that failed.
type ExitError int

// Error names the code and nothing that the command wrote.
func (e ExitError) Error() string { return fmt.Sprintf("the command ended with exit code %d", int(e)) }

// Exec runs a command without input in a container of pod. Whatever it writes is thrown away. The error is an ExitError, or one of the
// Kubernetes API, or says which limit the command broke.
func (p *Pods) Exec(ctx context.Context, w *workload.Workload, pod workload.RunningPod, container string, command []string) error {
	executor, err := p.executor(w.Namespace, pod.Name, container, command)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.execTime, errExecTime)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ctx = klog.NewContext(ctx, klog.Logger{}) // a connection that is cut is not worth a line of the log
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stderr: &limited{left: execBytes, full: func() { stop(errExecOutput) }}})
	var exit exec.CodeExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &exit):
		return ExitError(exit.Code)
	case errors.Is(err, ErrLeadershipLost):
		return ErrLeadershipLost
	}
	if refused := refusal(err); refused != nil {
		return refused
	}
	return errExec
}

// refusal returns the answer with which the API server refused a WebSocket; nil if err is another one.
func refusal(err error) error {
	if failed, ok := errors.AsType[*httpstream.UpgradeFailureError](err); ok {
		if status, ok := errors.AsType[*apierrors.StatusError](failed.Cause); ok {
			return status
		}
	}
	return nil
}

// executor connects by a WebSocket, and by SPDY if the API server or a proxy in between does not know the former; no command was run then.
func (p *Pods) executor(namespace, pod, container string, command []string) (remotecommand.Executor, error) {
	address := p.cluster.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stderr: true}, scheme.ParameterCodec).URL()
	config := p.cluster.fence.around(p.cluster.config)
	socket, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, address.String())
	if err != nil {
		return nil, err
	}
	spdy, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, address)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(socket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) && refusal(err) == nil || httpstream.IsHTTPSProxyError(err)
	})
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
