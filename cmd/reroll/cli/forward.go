package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/portforward"

	"github.com/reroll-dev/reroll/reloader/kube"
)

// forwarding reaches the server through a cluster, as kubectl port-forward does: the API of a Reroll in a cluster listens on the loopback of its pod.
type forwarding struct {
	kubeconfig, context, own string
	// end closes the forwarded port; nil if there is none.
	end func()
}

func (f *forwarding) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster through which the server is reached, unless --server is given")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig")
	flags.StringVar(&f.own, "reroll-namespace", "reroll", "Reroll's own namespace in that cluster")
}

// named reports whether a cluster is named by flags.
func (f *forwarding) named() bool { return f.kubeconfig != "" || f.context != "" }

// configured reports whether the usual kubeconfig has a current context. One that cannot be read counts: using it says what is wrong.
func configured() bool {
	config, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	return err != nil || config.CurrentContext != ""
}

// forwardTime bounds the wait for a forwarded port.
const forwardTime = 20 * time.Second

// forward forwards a free port of this machine to the API in a pod of Reroll, and returns its address, HOST:PORT. It lasts until close.
func (f *forwarding) forward(ctx context.Context, agent string) (address string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			cancel()
			err = fmt.Errorf("reach the server through the cluster: %w", err)
		}
	}()
	config, err := kube.Config(kube.Options{Kubeconfig: f.kubeconfig, Context: f.context, UserAgent: agent})
	if err != nil {
		return "", err
	}
	config.Timeout = forwardTime
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	pods, err := client.CoreV1().Pods(f.own).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
	if err != nil {
		return "", err
	}
	pod, port := serving(pods.Items)
	if pod == "" {
		return "", fmt.Errorf("no pod with Reroll's API is running in namespace %s of %s: set --reroll-namespace, or --server", f.own, config.Host)
	}
	path := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(f.own).Name(pod).SubResource("portforward").URL()
	dialer, err := portforward.NewSPDYOverWebsocketDialer(path, config)
	if err != nil {
		return "", err
	}
	ready := make(chan struct{})
	forwarder, err := portforward.NewOnAddressesWithContext(ctx, dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, ready, io.Discard, io.Discard)
	if err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		return "", fmt.Errorf("forward a port to pod %s/%s: %w", f.own, pod, err)
	case <-time.After(forwardTime):
		return "", fmt.Errorf("forward a port to pod %s/%s: no answer in %s", f.own, pod, forwardTime)
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return "", err
	}
	f.end = func() {
		cancel()
		<-ended
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local), nil
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

// close ends the forwarding, if there is one.
func (f *forwarding) close() {
	if f.end != nil {
		f.end()
		f.end = nil
	}
}
