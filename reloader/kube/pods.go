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
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
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

// servers are the addresses of the API servers, as they were at a time.
type servers struct {
	addresses []netip.Addr
	readAt    time.Time
}

// Running returns the pods of w that run and are not being deleted. It fails if a running pod that w selects does not say whether it is of w.
func (c *connection) Running(ctx context.Context, w *workload.Workload) (found []workload.RunningPod, err error) {
	if w.Selector == "" {
		return nil, nil
	}
	running := metav1.ListOptions{LabelSelector: w.Selector, FieldSelector: "status.phase=" + string(corev1.PodRunning)}
	err = each(ctx, c.client.CoreV1().Pods(w.Namespace).List, running, func(pod *corev1.Pod) error {
		owns, known := w.Owns(pod)
		switch {
		case pod.DeletionTimestamp != nil:
		case !known:
			return fmt.Errorf("pod %s/%s: its controller does not say whether it is of %s", pod.Namespace, pod.Name, w.Ref())
		case owns:
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
func (c *connection) Refresh(ctx context.Context, pod workload.RunningPod, value string) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": map[string]string{workload.RefreshKey: value}}})
	if err != nil {
		return fmt.Errorf("encode the patch of pod %s: %w", pod.Name, err)
	}
	_, err = c.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	if cause, found := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid); found && cause.Field == "metadata.uid" {
		return apierrors.NewNotFound(corev1.Resource("pods"), pod.Name)
	}
	return err
}

// Secret returns the data of a Secret.
func (c *connection) Secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	s, err := c.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return s.Data, nil
}

// Servers returns the addresses of the API servers, at most a minute old. It fails with ErrLeadershipLost where the fence refuses writes: what is
// about to be asked of a pod is like a write.
func (c *connection) Servers(ctx context.Context) ([]netip.Addr, error) {
	if c.fence.closed() {
		return nil, ErrLeadershipLost
	}
	if known := c.servers.Load(); known != nil && time.Since(known.readAt) < time.Minute {
		return known.addresses, nil
	}
	urls, err := c.CanaryAddresses(ctx)
	if err != nil {
		return nil, err
	}
	var found []netip.Addr
	for _, text := range append(urls, c.client.CoreV1().RESTClient().Get().URL().String()) {
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
	c.servers.Store(&servers{found, time.Now()})
	return found, nil
}

// Exec runs a command without input in a container of pod. Whatever it writes is thrown away. The error is one of the Kubernetes
// API, or has the exit code, or says which limit the command broke.
func (c *connection) Exec(ctx context.Context, pod workload.RunningPod, container string, command []string) error {
	address := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stderr: true}, scheme.ParameterCodec).URL()
	executor, err := remotecommand.NewWebSocketExecutor(c.fence.around(c.config), http.MethodGet, address.String())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, execTime, fmt.Errorf("the command did not end within %s", execTime))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	full := func() { stop(fmt.Errorf("the command wrote more than %d KiB to standard error", execBytes>>10)) }
	ctx = klog.NewContext(ctx, klog.Logger{}) // a connection that is cut is not worth a line of the log
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stderr: &limited{execBytes, full}})
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
	return errors.New("the command could not be run") // err may repeat what the command wrote
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
