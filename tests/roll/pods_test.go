package roll

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"github.com/reroll-dev/reroll/reloader/workload"
	"github.com/reroll-dev/reroll/tests/line"
)

// site is a namespace with a Deployment web and a node whose kubelet is this process.
type site struct {
	*testing.T
	namespace, node string
	w               *workload.Workload
	mu              sync.Mutex
	// ran are the commands that the kubelet was asked to run.
	ran []string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{T: t, namespace: cluster.Namespace(t)}
	s.node = s.namespace
	s.w = &workload.Workload{Kind: "Deployment", ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web", UID: "u"}, Selector: "app=web"}
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		options, err := remotecommand.NewOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		remotecommand.ServeExec(w, r, s, "", "", r.URL.Path, r.URL.Query()["command"], options, time.Minute, time.Minute, remotecommand.SupportedStreamingProtocols)
	}))
	t.Cleanup(kubelet.Close)
	nodes := cluster.Client().CoreV1().Nodes()
	node, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.node}}, metav1.CreateOptions{})
	line.Must(t, err)
	t.Cleanup(func() { _ = nodes.Delete(context.WithoutCancel(t.Context()), s.node, metav1.DeleteOptions{}) })
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(kubelet.Listener.Addr().(*net.TCPAddr).Port) //nolint:gosec // it is a port
	if _, err := nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// exit is the exit code of a command.
type exit int

func (e exit) Error() string   { return "hunter2" }
func (e exit) String() string  { return "hunter2" }
func (e exit) Exited() bool    { return true }
func (e exit) ExitStatus() int { return int(e) }

// ExecInContainer runs a command in the place of a container runtime. The name of the container is the path of the request.
func (s *site) ExecInContainer(ctx context.Context, _, _, container string, command []string, in io.Reader, out, errs io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	s.mu.Lock()
	s.ran = append(s.ran, container+" "+strings.Join(command, "|"))
	s.mu.Unlock()
	_, _ = fmt.Fprint(errs, "hunter2")
	switch command[0] {
	case "fail":
		return exit(3)
	case "break":
		return errors.New("hunter2")
	case "talk", "sleep":
		size := map[string]int{"talk": 4096, "sleep": 1}[command[0]]
		for ctx.Err() == nil {
			<-time.After(time.Millisecond)
			if _, err := errs.Write(make([]byte, size)); err != nil {
				return err
			}
		}
	}
	return nil
}

// pod makes a running pod of a ReplicaSet with the labels of the Deployment web.
func (s *site) pod(name, replicaSet, hash string) *corev1.Pod {
	s.Helper()
	pods, controls := cluster.Client().CoreV1().Pods(s.namespace), true
	pod, err := pods.Create(s.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"app": "web", "pod-template-hash": hash}, Annotations: map[string]string{"team": "shop"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: replicaSet, UID: "rs", Controller: &controls}},
		},
		Spec: corev1.PodSpec{NodeName: s.node, Containers: []corev1.Container{{Name: "main", Image: "example.test/main", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}}}}},
	}, metav1.CreateOptions{})
	line.Must(s, err)
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, "10.1.2.3", []corev1.PodIP{{IP: "10.1.2.3"}}
	if pod, err = pods.UpdateStatus(s.Context(), pod, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
	return pod
}

// TestRunningAndRefresh: only pods of the workload that run count, and each is annotated once, as the object that it was.
func TestRunningAndRefresh(t *testing.T) {
	s := newSite(t)
	pods, client := connect(t, cluster.Kubeconfig()), cluster.Client().CoreV1().Pods(s.namespace)
	mine := s.pod("web-5d4f-a", "web-5d4f", "5d4f")
	s.pod("web-api-77aa-a", "web-api-77aa", "77aa")
	pending := s.pod("web-5d4f-b", "web-5d4f", "5d4f")
	pending.Status.Phase = corev1.PodPending
	if _, err := client.UpdateStatus(t.Context(), pending, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	running := func() []workload.RunningPod {
		t.Helper()
		found, err := pods.Running(t.Context(), s.w)
		line.Must(t, err)
		return found
	}
	if diff := cmp.Diff([]workload.RunningPod{workload.RunningPodOf(mine)}, running()); diff != "" {
		t.Fatalf("running pods (-want +got):\n%s", diff)
	}

	version := func() string {
		t.Helper()
		pod, err := client.Get(t.Context(), mine.Name, metav1.GetOptions{})
		if err != nil || pod.Annotations["team"] != "shop" {
			t.Fatalf("annotations %v, %v", pod.Annotations, err)
		}
		return pod.ResourceVersion + " " + pod.Annotations[workload.RefreshKey]
	}
	now := running()[0]
	line.Must(t, pods.Refresh(t.Context(), now, "41"))
	first := version()
	if err := pods.Refresh(t.Context(), now, "41"); err != nil || version() != first || !strings.HasSuffix(first, " 41") || running()[0].Refreshed != "41" {
		t.Errorf("refreshed twice: %v; at first %q, then %q", err, first, version())
	}
	before, gone := now, now
	before.UID, gone.Name = "11111111-1111-1111-1111-111111111111", "web-5d4f-z"
	for _, other := range []workload.RunningPod{before, gone} {
		if err := pods.Refresh(t.Context(), other, "42"); !apierrors.IsNotFound(err) {
			t.Errorf("pod %s with UID %s: %v, want that it is not found", other.Name, other.UID, err)
		}
	}
	if version() != first {
		t.Errorf("the pod is now %q, want %q", version(), first)
	}

	s.pod("handmade-a", "handmade", "5d4f")
	if found, err := pods.Running(t.Context(), s.w); err == nil || !strings.Contains(err.Error(), "handmade-a") || found != nil {
		t.Errorf("with a pod of an adopted ReplicaSet: %v, %v", found, err)
	}
}

// TestSecret: credentials are in a Secret of the workload's own namespace. The address of the API server is known, so that no pod can have it.
func TestSecret(t *testing.T) {
	namespace := cluster.Namespace(t)
	pods := connect(t, cluster.Kubeconfig())
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}, StringData: map[string]string{"token": "t0ken"}}
	_, err := cluster.Client().CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{})
	line.Must(t, err)
	if data, err := pods.Secret(t.Context(), namespace, "key"); err != nil || string(data["token"]) != "t0ken" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := pods.Secret(t.Context(), "default", "key"); !apierrors.IsNotFound(err) {
		t.Errorf("of another namespace: %v", err)
	}
	servers, err := pods.Servers(t.Context())
	if err != nil || !slices.Contains(servers, netip.MustParseAddr("127.0.0.1")) {
		t.Errorf("%v, %v", servers, err)
	}
}

// TestExec: a command runs once in the named container, and ends within its time. What it writes is in no error.
func TestExec(t *testing.T) {
	s := newSite(t)
	pod := workload.RunningPodOf(s.pod("web-5d4f-a", "web-5d4f", "5d4f"))
	pods := connect(t, cluster.Kubeconfig())
	for command, says := range map[string]string{"reload": "", "fail": "exit code 3", "break": "could not be run", "talk": "more than 64 KiB", "sleep": "within 10s"} {
		err := pods.Exec(t.Context(), pod, "main", []string{command, "-s", "a b"})
		if (err == nil) != (says == "") || err != nil && (!strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: error %v, want %q", command, err, says)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.ran)
	path := "/exec/" + s.namespace + "/web-5d4f-a/main "
	want := []string{path + "break|-s|a b", path + "fail|-s|a b", path + "reload|-s|a b", path + "sleep|-s|a b", path + "talk|-s|a b"}
	if diff := cmp.Diff(want, s.ran); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if err := pods.Exec(t.Context(), pod, "side", []string{"reload"}); !apierrors.IsBadRequest(err) {
		t.Errorf("in a container that the pod does not have: %v", err)
	}
	pod.Name = "web-5d4f-z"
	if err := pods.Exec(t.Context(), pod, "main", []string{"reload"}); !apierrors.IsNotFound(err) {
		t.Errorf("in a pod that is gone: %v", err)
	}
}
