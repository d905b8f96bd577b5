package kube

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/portforward"
)

// HasContext reports whether the usual kubeconfig has a current context. One that cannot be read counts: using it says what is wrong.
func HasContext() bool {
	config, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	return err != nil || config.CurrentContext != ""
}

// forwardTime bounds each step on the way to a forwarded port.
const forwardTime = 20 * time.Second

// Forward forwards a free port of this machine's loopback to the API in a pod of Reroll in o.Namespace, as kubectl port-forward does, and returns its
// address, HOST:PORT. It lasts until end is called or ctx is done.
func Forward(ctx context.Context, o Options) (address string, end func(), err error) {
	config, err := Config(o)
	if err != nil {
		return "", nil, err
	}
	config.Timeout = forwardTime
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", nil, err
	}
	pods, err := client.CoreV1().Pods(o.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
	if err != nil {
		return "", nil, err
	}
	pod, port := serving(pods.Items)
	if pod == "" {
		return "", nil, fmt.Errorf("no pod with Reroll's API is running in namespace %s of %s: set --reroll-namespace, or --server", o.Namespace, config.Host)
	}
	path := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(o.Namespace).Name(pod).SubResource("portforward").URL()
	dialer, err := portforward.NewSPDYOverWebsocketDialer(path, config)
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ready, ended := make(chan struct{}), make(chan error, 1)
	forwarder, err := portforward.NewOnAddressesWithContext(ctx, dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, ready, io.Discard, io.Discard)
	if err != nil {
		cancel()
		return "", nil, err
	}
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err = <-ended:
	case <-time.After(forwardTime):
		err = fmt.Errorf("no answer in %s", forwardTime)
	}
	var ports []portforward.ForwardedPort
	if err == nil {
		ports, err = forwarder.GetPorts()
	}
	if err != nil {
		cancel()
		return "", nil, fmt.Errorf("forward a port to pod %s/%s: %w", o.Namespace, pod, err)
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local), func() {
		cancel()
		<-ended
	}, nil
}

// serving returns the pod whose container has a port named api, and that port: of several, the first that is ready. The name is empty if there is none.
func serving(pods []corev1.Pod) (name string, port int32) {
	ready := func(p corev1.Pod) int {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				return 0
			}
		}
		return 1
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Or(ready(a)-ready(b), cmp.Compare(a.Name, b.Name)) })
	for _, p := range pods {
		for _, c := range p.Spec.Containers {
			for _, at := range c.Ports {
				if c.Name == "reroll" && at.Name == "api" {
					return p.Name, at.ContainerPort
				}
			}
		}
	}
	return "", 0
}
