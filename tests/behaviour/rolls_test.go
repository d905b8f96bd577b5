package behaviour

import (
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/line"
)

// runs makes a pod of a Deployment's template as it is now, whose container has just started. No controller runs here that would.
func (s *room) runs(deployment, name string) {
	s.T.Helper()
	client := s.Client()
	d, err := client.AppsV1().Deployments(s.NS).Get(s.Ctx(), deployment, metav1.GetOptions{})
	s.Must(err)
	template := d.Spec.Template
	pod, err := client.CoreV1().Pods(s.NS).Create(s.Ctx(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: template.Labels, Annotations: template.Annotations}, Spec: template.Spec,
	}, metav1.CreateOptions{})
	s.Must(err)
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: template.Spec.Containers[0].Name, State: state}}
	_, err = client.CoreV1().Pods(s.NS).UpdateStatus(s.Ctx(), pod, metav1.UpdateOptions{})
	s.Must(err)
}

// away ends the process, and NATS loses all it had. With forget, Reroll has never been installed.
func (s *room) away(forget bool) {
	s.T.Helper()
	s.Stop()
	s.Must(os.RemoveAll(shared.DataDir()))
	s.Must(os.MkdirAll(shared.DataDir(), 0o700))
	if forget {
		_, err := shared.Kube.Kubectl(s.Ctx(), "--namespace=default", "delete", "configmaps", "--selector=reroll.dev/ledger")
		s.Must(err)
	}
}

// back starts the process again.
func (s *room) back() {
	s.T.Helper()
	s.Start()
	s.Quiet()
}

// nextSecond waits for the second after a time: what the API server dates tells no two times of one second apart.
func (s *room) nextSecond(t time.Time) {
	s.T.Helper()
	select {
	case <-time.After(time.Until(t.Truncate(time.Second).Add(time.Second))):
	case <-s.Ctx().Done():
	}
}

const nightly = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: NAME, annotations: {reroll.dev/auto: "true"}}
spec:
  schedule: "0 0 29 2 *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example/1", envFrom: [{configMapRef: {name: NAME}}]}]}}}}
`

// TestUnknownEvidence: a Job that has ended and was deleted, and a history that is lost, prove nothing: no second Job starts for one edit. Nor does one for
// an edit of before Reroll was installed.
func TestUnknownEvidence(t *testing.T) {
	s := newRoom(t)
	jobs := func(want int) {
		t.Helper()
		list, err := s.Client().BatchV1().Jobs(s.NS).List(t.Context(), metav1.ListOptions{})
		s.Must(err)
		if len(list.Items) != want {
			t.Errorf("%d Jobs, want %d", len(list.Items), want)
		}
	}
	s.KubectlWith(fill(config+"---"+nightly, "web", "one", ""), "apply", "-f", "-")
	s.Quiet()
	s.Edit("web", "two")
	s.Quiet()
	jobs(1)
	s.Kubectl("delete", "jobs", "--all", "--wait")
	for range 2 {
		s.away(false)
		s.back()
		jobs(0)
	}
	s.away(true)
	s.Edit("web", "three")
	s.nextSecond(time.Now())
	s.back()
	jobs(0)
	s.Edit("web", "four")
	s.Quiet()
	jobs(1)
}

// TestFirstSight: what was written before Reroll was installed rolls nothing, though a pod is older. What is written after that, while nothing runs and
// the history is lost, rolls once.
func TestFirstSight(t *testing.T) {
	s := newRoom(t)
	s.away(true)
	s.KubectlWith(fill(config+"---"+deployment, "web", "one", "1"), "apply", "-f", "-")
	s.runs("web", "old")
	s.nextSecond(time.Now())
	s.Edit("web", "two")
	s.nextSecond(time.Now())
	s.back()
	s.changed("web", 0)
	s.away(false)
	s.nextSecond(time.Now())
	s.Edit("web", "three")
	s.back()
	s.changed("web", 1)
	s.Restart()
	s.next("web", 1)
}

// TestChangeWhileStarting: what changes between the opt-in and the first look is a change, wherever in the start of the process that falls. Workloads are
// made one after another until it is ready, and the config of each is edited once its pod has started.
func TestChangeWhileStarting(t *testing.T) {
	s := newRoom(t)
	client := s.Client()
	s.Stop()
	configs := client.CoreV1().ConfigMaps(s.NS)
	for i := range 100 {
		_, err := configs.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i)}, Data: map[string]string{"k": "one"}}, metav1.CreateOptions{})
		s.Must(err)
	}
	s.nextSecond(time.Now())
	s.Must(shared.Reroll.Start())
	ready := make(chan error, 1)
	go func() { ready <- shared.Reroll.WaitReady(t.Context()) }()
	var names []string
	for done := false; !done && len(names) < 100; {
		name := fmt.Sprintf("web-%d", len(names))
		names = append(names, name)
		_, err := client.AppsV1().Deployments(s.NS).Create(t.Context(), line.Deployment(s.NS, name, map[string]string{"reroll.dev/auto": "true"}, line.FromConfigMap(name)), metav1.CreateOptions{})
		s.Must(err)
		s.runs(name, name)
		_, err = configs.Patch(t.Context(), name, types.MergePatchType, []byte(`{"data":{"k":"two"}}`), metav1.PatchOptions{})
		s.Must(err)
		select {
		case err := <-ready:
			s.Must(err)
			done = true
		default:
		}
	}
	s.Must(shared.Reroll.WaitReady(t.Context()))
	s.Quiet()
	t.Logf("%d workloads were made while the process started", len(names))
	for _, name := range names {
		s.changed(name, 1)
	}
}
