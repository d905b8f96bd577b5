package behaviour

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/portforward"

	"github.com/reroll-dev/reroll/tests/line"
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
	s := newShopfront(t)
	var asked atomic.Value
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.Path)
		portforward.ServePortForward(w, r, loopback{}, "", "", nil, time.Minute, time.Minute, portforward.SupportedProtocols)
	}))
	t.Cleanup(kubelet.Close)
	api, err := url.Parse(shared.Reroll.API)
	s.must(err)
	port, err := strconv.Atoi(api.Port())
	s.must(err)
	s.pod(kubelet.Listener.Addr().(*net.TCPAddr).Port, port)

	answer, err := s.reroll("status", "--reroll-namespace="+s.ns)
	if err != nil || !strings.Contains(answer, "local") {
		t.Fatalf("status: %v: %s", err, answer)
	}
	if path, want := asked.Load(), "/portForward/"+s.ns+"/reroll-0"; path != want {
		t.Errorf("the kubelet was asked for %v, want %s", path, want)
	}
	if answer, err := s.reroll("status", "--reroll-namespace=empty-"+s.ns); err == nil || !strings.Contains(answer, "no pod with Reroll's API is running in namespace empty-"+s.ns) {
		t.Errorf("without a pod: %v: %s", err, answer)
	}
	if answer, err := s.reroll("status", "--context=nowhere"); err == nil || !strings.Contains(answer, `context "nowhere" does not exist`) {
		t.Errorf("without the context: %v: %s", err, answer)
	}
}

// pod creates a running pod of Reroll on a node with that kubelet.
func (s *shopfront) pod(kubelet, api int) {
	s.t.Helper()
	client := shared.Kube.Client().CoreV1()
	node, err := client.Nodes().Create(s.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.ns}}, metav1.CreateOptions{})
	s.must(err)
	s.t.Cleanup(func() { _ = client.Nodes().Delete(context.Background(), node.Name, metav1.DeleteOptions{}) })
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(kubelet) //nolint:gosec // it is a port
	_, err = client.Nodes().UpdateStatus(s.t.Context(), node, metav1.UpdateOptions{})
	s.must(err)
	pod, err := client.Pods(s.ns).Create(s.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "reroll-0"},
		Spec: corev1.PodSpec{NodeName: node.Name, Containers: []corev1.Container{{
			Name: "reroll", Image: "registry.example/reroll", Ports: []corev1.ContainerPort{{Name: "api", ContainerPort: int32(api)}}, //nolint:gosec // it is a port
		}}},
	}, metav1.CreateOptions{})
	s.must(err)
	pod.Status.Phase = corev1.PodRunning
	_, err = client.Pods(s.ns).UpdateStatus(s.t.Context(), pod, metav1.UpdateOptions{})
	s.must(err)
}

// reroll runs the binary with the kubeconfig alone, and returns what it says.
func (s *shopfront) reroll(args ...string) (string, error) {
	s.t.Helper()
	binary, err := line.Build(s.t.Context())
	s.must(err)
	cmd := exec.CommandContext(s.t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), "REROLL_SERVER=", "KUBECONFIG="+shared.Kube.Kubeconfig())
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("reroll %v: %w", args, err)
	}
	return string(out), err
}
