package behaviour

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

// loopback forwards each port of a pod to the same port of this machine, in the place of a container runtime.
type loopback struct{}

func (loopback) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(int(port)))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // both ends are done with it
	go func() { _, _ = io.Copy(conn, stream) }()
	_, err = io.Copy(stream, conn)
	return err
}

// TestThroughTheKubeconfig: the commands find the API by the current context of the kubeconfig alone, through the API server and the kubelet's own
// code for port forwarding, with the rights of the kubeconfig's user.
func TestThroughTheKubeconfig(t *testing.T) {
	t.Parallel()
	s := newRoom(t)
	var asked atomic.Value
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.Path)
		portforward.ServePortForward(w, r, loopback{}, "", "", nil, time.Minute, time.Minute, portforward.SupportedProtocols)
	}))
	t.Cleanup(kubelet.Close)
	api, err := url.Parse(shared.Reroll.API)
	s.Must(err)
	port, err := strconv.Atoi(api.Port())
	s.Must(err)
	s.pod(kubelet.Listener.Addr().(*net.TCPAddr).Port, port)

	answer, err := s.Reroll("status", "--reroll-namespace="+s.NS)
	if err != nil || !strings.Contains(answer, "local") {
		t.Fatalf("status: %v: %s", err, answer)
	}
	if path, want := asked.Load(), "/portForward/"+s.NS+"/reroll-0"; path != want {
		t.Errorf("the kubelet was asked for %v, want %s", path, want)
	}
	if answer, err := s.Reroll("status", "--reroll-namespace=empty-"+s.NS); err == nil || !strings.Contains(answer, "no pod with Reroll's API is running in namespace empty-"+s.NS) {
		t.Errorf("without a pod: %v: %s", err, answer)
	}
	if answer, err := s.Reroll("status", "--context=nowhere"); err == nil || !strings.Contains(answer, `context "nowhere" does not exist`) {
		t.Errorf("without the context: %v: %s", err, answer)
	}
}

// pod creates a running pod of Reroll on a node with that kubelet.
func (s *room) pod(kubelet, api int) {
	s.T.Helper()
	client := s.Client().CoreV1()
	node, err := client.Nodes().Create(s.Ctx(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.NS}}, metav1.CreateOptions{})
	s.Must(err)
	s.T.Cleanup(func() { _ = client.Nodes().Delete(context.Background(), node.Name, metav1.DeleteOptions{}) })
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(kubelet) //nolint:gosec // it is a port
	_, err = client.Nodes().UpdateStatus(s.Ctx(), node, metav1.UpdateOptions{})
	s.Must(err)
	pod, err := client.Pods(s.NS).Create(s.Ctx(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "reroll-0"},
		Spec: corev1.PodSpec{NodeName: node.Name, Containers: []corev1.Container{{
			Name: "reroll", Image: "registry.example/reroll", Ports: []corev1.ContainerPort{{Name: "api", ContainerPort: int32(api)}}, //nolint:gosec // it is a port
		}}},
	}, metav1.CreateOptions{})
	s.Must(err)
	pod.Status.Phase = corev1.PodRunning
	_, err = client.Pods(s.NS).UpdateStatus(s.Ctx(), pod, metav1.UpdateOptions{})
	s.Must(err)
}
