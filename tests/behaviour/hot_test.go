package behaviour

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
)

// program is a server that reads the ConfigMap app when it is asked to, as one with a mounted volume would.
type program struct {
	*room
	mu    sync.Mutex
	reads []string
}

func (p *program) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case r.URL.Path == "/metrics":
		fmt.Fprintf(w, "# TYPE config_reloads_total counter\nconfig_reloads_total{config=\"app\"} %d\n", len(p.reads))
	case r.Method != http.MethodPost || r.URL.RequestURI() != "/-/reload?all=1":
		http.Error(w, "no", http.StatusNotFound)
	default:
		c, err := p.Client().CoreV1().ConfigMaps(p.NS).Get(r.Context(), "app", metav1.GetOptions{})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		p.reads = append(p.reads, c.Data["k"])
	}
}

const hotManifest = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations:
    reroll.dev/auto: "true"
    reroll.dev/strategy: http
    reroll.dev/http-reload: "POST :web/-/reload?all=1"
    reroll.dev/http-verify: "GET :web/metrics config_reloads_total"
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      volumes: [{name: config, configMap: {name: app}}]
      containers: [{name: main, image: registry.example/web, volumeMounts: [{name: config, mountPath: /config}]}]
`

// has returns what the program has read.
func (p *program) has() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.reads)
}

// run creates a running pod of the Deployment web. No kubelet runs it: the program answers at its port web, at an address of this machine that is not the
// loopback, which Reroll does not call.
func (p *program) run() {
	p.T.Helper()
	route, err := net.Dial("udp4", "198.51.100.1:9") // this sends nothing
	p.Must(err)
	defer route.Close()
	listener, err := net.Listen("tcp4", ":0")
	p.Must(err)
	server := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	p.T.Cleanup(func() { _ = server.Close() })
	port := listener.Addr().(*net.TCPAddr).Port
	controller := true
	pod, err := p.Client().CoreV1().Pods(p.NS).Create(p.Ctx(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-5d4f-a", Labels: map[string]string{"app": "web", "pod-template-hash": "5d4f"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5d4f", UID: "unknown", Controller: &controller}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example/main", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: int32(port)}}}}},
	}, metav1.CreateOptions{})
	p.Must(err)
	address := route.LocalAddr().(*net.UDPAddr).IP.String()
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}},
	}
	_, err = p.Client().CoreV1().Pods(p.NS).UpdateStatus(p.Ctx(), pod, metav1.UpdateOptions{})
	p.Must(err)
}

// TestRunningPodsReload: running pods of a workload that asks for it take an edit without a restart; it is on record when each was asked again after
// the time that kubelets take. Where the status of a pod names the loopback, that gets no call: the workload restarts, and says why.
func TestRunningPodsReload(t *testing.T) {
	s := newRoom(t)
	p := &program{room: s}
	s.Config("app", "one")
	s.KubectlWith(hotManifest, "apply", "-f", "-")
	p.run()
	s.Quiet()

	s.Edit("app", "two")
	last := s.Reloads("web", 1)[0]
	if last.Outcome != string(reloader.ReasonVerified) || last.Strategy != "http" || !strings.Contains(last.Message, "1 of 1 pods") {
		t.Errorf("reload %+v", last)
	}
	if has := p.has(); !slices.Equal(has, []string{"two", "two"}) {
		t.Errorf("the program has read %q, want twice the edit", has)
	}
	config, err := s.Client().CoreV1().ConfigMaps(s.NS).Get(s.Ctx(), "app", metav1.GetOptions{})
	s.Must(err)
	pods, err := s.Client().CoreV1().Pods(s.NS).List(s.Ctx(), metav1.ListOptions{})
	s.Must(err)
	if got := pods.Items[0].Annotations["reroll.dev/refresh"]; got != config.ResourceVersion {
		t.Errorf("the pod was touched with %q, want the version of the ConfigMap, %q", got, config.ResourceVersion)
	}
	out, err := s.Reroll("explain", "web", "-n", s.NS, "--server", s.Line.Reroll.API)
	s.Must(err)
	if !strings.Contains(out, "UpToDate") || !strings.Contains(out, "without a restart (strategy http)") {
		t.Errorf("explain says: %s", out)
	}
	s.Rolled("web", 0)

	forged := pods.Items[0].DeepCopy()
	forged.Status.PodIP, forged.Status.PodIPs = "127.0.0.1", []corev1.PodIP{{IP: "127.0.0.1"}}
	_, err = s.Client().CoreV1().Pods(s.NS).UpdateStatus(s.Ctx(), forged, metav1.UpdateOptions{})
	s.Must(err)
	s.Edit("app", "three")
	s.Rolled("web", 1)
	if last := s.Reloads("web", 2)[0]; last.Outcome != string(reloader.ReasonReloaded) || !strings.Contains(last.Message, "cannot be that of a pod") {
		t.Errorf("reload %+v", last)
	}
	if has := p.has(); len(has) != 2 {
		t.Errorf("the program at the loopback has read %q", has)
	}
}
