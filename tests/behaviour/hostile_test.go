package behaviour

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/line"
)

// TestAddressesThatAreNotCalled: where the status of a pod names the loopback or its node, the workload restarts, and what listens there gets nothing.
func TestAddressesThatAreNotCalled(t *testing.T) {
	s := newRoom(t)
	var asked atomic.Int32
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	s.Config("app", "one")
	cases := []struct {
		name, says string
		change     func(pod *corev1.Pod)
	}{
		{"loopback", "cannot be that of a pod", func(pod *corev1.Pod) {
			listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", pod.Spec.Containers[0].Ports[0].ContainerPort))
			s.Must(err)
			t.Cleanup(func() { _ = listener.Close() })
			go func() { _ = http.Serve(listener, h) }() //nolint:gosec // it is asked for nothing
			pod.Status.PodIP, pod.Status.PodIPs = "127.0.0.1", []corev1.PodIP{{IP: "127.0.0.1"}}
		}},
		{"node", "that of its node", func(pod *corev1.Pod) {
			pod.Status.HostIP, pod.Status.HostIPs = pod.Status.PodIP, []corev1.HostIP{{IP: pod.Status.PodIP}}
		}},
	}
	for _, c := range cases {
		s.KubectlWith(fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  annotations: {reroll.dev/auto: "true", reroll.dev/strategy: http, reroll.dev/http-reload: "POST :web/-/reload"}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      volumes: [{name: config, configMap: {name: app}}]
      containers: [{name: main, image: registry.example/web, volumeMounts: [{name: config, mountPath: /config}]}]
`, c.name), "apply", "-f", "-")
		s.Must(line.RunPod(t.Context(), s.Client(), s.NS, c.name, "a", h))
		pods, err := s.Client().CoreV1().Pods(s.NS).List(s.Ctx(), metav1.ListOptions{LabelSelector: "app=" + c.name})
		s.Must(err)
		c.change(&pods.Items[0])
		_, err = s.Client().CoreV1().Pods(s.NS).UpdateStatus(s.Ctx(), &pods.Items[0], metav1.UpdateOptions{})
		s.Must(err)
	}
	s.Quiet()
	s.Edit("app", "two")
	for _, c := range cases {
		s.Rolled(c.name, 1)
		if last := s.Reloads(c.name, 1)[0]; last.Outcome != string(reloader.ReasonReloaded) || !strings.Contains(last.Message, c.says) {
			t.Errorf("%s: reload %+v, want a message that says %q", c.name, last, c.says)
		}
	}
	if asked.Load() > 0 {
		t.Errorf("%d requests", asked.Load())
	}
}
