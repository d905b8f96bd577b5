package line

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// RunPod creates a running pod of a ReplicaSet of a workload whose pods have the label app with its name; hashLabel is the one that its controller gives
// them. No kubelet runs it: the server answers at its port web until ctx ends, at all addresses of this machine, over TLS if it has a TLSConfig. That of
// the pod is not its loopback, which Reroll does not call.
func RunPod(ctx context.Context, client kubernetes.Interface, namespace, workload, hashLabel, name string, server *http.Server) error {
	route, err := (&net.Dialer{}).DialContext(ctx, "udp4", "198.51.100.1:9") // this sends nothing
	if err != nil {
		return err
	}
	defer route.Close()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", ":0")
	if err != nil {
		return err
	}
	server.ReadHeaderTimeout, server.ErrorLog = time.Minute, slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if server.TLSConfig != nil {
		listener = tls.NewListener(listener, server.TLSConfig)
	}
	go func() { _ = server.Serve(listener) }()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	address := netip.MustParseAddrPort(route.LocalAddr().String()).Addr().String()
	port := int32(netip.MustParseAddrPort(listener.Addr().String()).Port())
	controller := true
	const hash = "5d4f8c7b9"
	pod, err := client.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: workload + "-" + hash + "-" + name, Labels: map[string]string{"app": workload, hashLabel: hash},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: workload + "-" + hash, UID: "unknown", Controller: &controller}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example/main", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: port}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}},
	}
	_, err = client.CoreV1().Pods(namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}
