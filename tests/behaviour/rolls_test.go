package behaviour

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/line"
)

// runs makes a pod of a Deployment's template as it is now, whose container started at a time, or is still waiting if that is zero. No controller runs
// here that would.
func (s *room) runs(deployment, name string, started time.Time) {
	s.T.Helper()
	client := s.Client()
	template := s.Deployment(deployment).Spec.Template
	pod, err := client.CoreV1().Pods(s.NS).Create(s.Ctx(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: template.Labels, Annotations: template.Annotations}, Spec: template.Spec,
	}, metav1.CreateOptions{})
	s.Must(err)
	state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError"}}
	if !started.IsZero() {
		state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: template.Spec.Containers[0].Name, State: state}}
	_, err = client.CoreV1().Pods(s.NS).UpdateStatus(s.Ctx(), pod, metav1.UpdateOptions{})
	s.Must(err)
}

// gone deletes an object at once.
func (s *room) gone(object string) {
	s.T.Helper()
	s.Kubectl("delete", object, "--grace-period=0", "--force", "--ignore-not-found")
}

// away ends the process, and lose forgets what NATS had. With forget, Reroll has never been installed.
func (s *room) away(lose, forget bool) {
	s.T.Helper()
	s.Stop()
	if lose {
		s.Must(os.RemoveAll(shared.DataDir()))
		s.Must(os.MkdirAll(shared.DataDir(), 0o700))
	}
	if forget {
		_, err := shared.Kube.Kubectl(s.Ctx(), "--namespace=default", "delete", "configmaps", "--selector=reroll.dev/ledger")
		s.Must(err)
	}
}

// back starts the process again.
func (s *room) back(flags ...string) {
	s.T.Helper()
	s.Start(flags...)
	s.Quiet()
}

// nextSecond waits for the next second: what the API server dates tells no two times of one second apart.
func nextSecond() { <-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) }

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
		s.away(true, false)
		s.back()
		jobs(0)
	}
	s.away(true, true)
	s.Edit("web", "three")
	nextSecond()
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
	s.away(true, true)
	s.KubectlWith(fill(config+"---"+deployment, "web", "one", "1"), "apply", "-f", "-")
	s.runs("web", "old", time.Now())
	nextSecond()
	s.Edit("web", "two")
	nextSecond()
	s.back()
	s.changed("web", 0)
	s.away(true, false)
	nextSecond()
	s.Edit("web", "three")
	s.back()
	s.changed("web", 1)
	s.Restart()
	s.next("web", 1)
}

// TestPodsThatNeverStarted: a container that waits for a key has read nothing, so that the pod is not replaced when the key comes. Once it has started, it is.
func TestPodsThatNeverStarted(t *testing.T) {
	t.Parallel()
	s := newRoom(t)
	s.KubectlWith(fill(config+"---"+strings.Replace(deployment, "envFrom: [{configMapRef: {name: NAME}}]",
		"env: [{name: A, valueFrom: {configMapKeyRef: {name: NAME, key: needed}}}]", 1), "web", "one", "1"), "apply", "-f", "-")
	s.runs("web", "waits", time.Time{})
	s.Quiet()
	needed := func(value string) {
		t.Helper()
		s.Kubectl("patch", "configmap/web", "-p", fmt.Sprintf(`{"data":{"needed":%q}}`, value))
		s.Quiet()
	}
	needed("1")
	s.changed("web", 0)
	s.gone("pod/waits")
	s.runs("web", "runs", time.Now())
	nextSecond()
	needed("2")
	s.changed("web", 1)
}

// TestOwnRestart: who edits a config and restarts the workload within its debounce window has restarted it for the edit. So has one whose apply renames a
// config that a pattern matches.
func TestOwnRestart(t *testing.T) {
	s := newRoom(t)
	s.away(false, false)
	s.back("--reload-on-create=true")
	defer func() { s.away(false, false); s.back() }()
	patient := strings.Replace(deployment, `reroll.dev/auto: "true"`, `reroll.dev/configmaps: "NAME*", reroll.dev/window: 5s`, 1)
	s.KubectlWith(fill(config+"---"+patient, "web", "one", "1"), "apply", "-f", "-")
	s.runs("web", "old", time.Now())
	s.Quiet()
	s.Edit("web", "two")
	s.Kubectl("rollout", "restart", "deployment/web")
	s.gone("pod/old")
	s.runs("web", "new", time.Now().Add(time.Second))
	s.Quiet()
	s.changed("web", 1)
	renamed := strings.ReplaceAll(patient, "{configMapRef: {name: NAME}}", "{configMapRef: {name: NAME-2}}")
	s.KubectlWith(fill(strings.Replace(config, "NAME", "NAME-2", 1)+"---"+renamed, "web", "three", "1"), "apply", "-f", "-")
	s.gone("pod/new")
	s.runs("web", "newer", time.Now().Add(time.Second))
	s.Quiet()
	s.changed("web", 2)
}

// TestChangeWhileStarting: what changes between the opt-in and the first look is a change, wherever in the start of the process that falls. Workloads are
// made one after another until it is ready, and the config of each is edited once its pod has started.
func TestChangeWhileStarting(t *testing.T) {
	s := newRoom(t)
	client := s.Client()
	s.away(false, false)
	configs := client.CoreV1().ConfigMaps(s.NS)
	for i := range 100 {
		_, err := configs.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i)}, Data: map[string]string{"k": "one"}}, metav1.CreateOptions{})
		s.Must(err)
	}
	nextSecond()
	s.Must(shared.Reroll.Start())
	ready := make(chan error, 1)
	go func() { ready <- shared.Reroll.WaitReady(t.Context()) }()
	var names []string
	for done := false; !done && len(names) < 100; {
		name := fmt.Sprintf("web-%d", len(names))
		names = append(names, name)
		_, err := client.AppsV1().Deployments(s.NS).Create(t.Context(), line.Deployment(s.NS, name, map[string]string{"reroll.dev/auto": "true"}, line.FromConfigMap(name)), metav1.CreateOptions{})
		s.Must(err)
		s.runs(name, name, time.Now())
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

// TestFirstSightOfScope: settings, too, opt in workloads, all of them or those of a namespace once it has a label. What was written before Reroll was
// installed rolls nothing then either, as migrate says beforehand, and the next edit rolls once.
func TestFirstSightOfScope(t *testing.T) {
	s := newRoom(t)
	defer func() { s.away(true, true); s.back() }()
	selected := "scope.namespaceSelector=shop=" + s.NS
	for name, c := range map[string]struct{ annotation, setting string }{
		"all":      {"", "reload.autoAll=true"},
		"selected": {`reroll.dev/auto: "true"`, selected},
	} {
		s.away(true, true)
		s.KubectlWith(strings.Replace(fill(config+"---"+deployment, name, "one", "1"), `reroll.dev/auto: "true"`, c.annotation, 1), "apply", "-f", "-")
		s.runs(name, name, time.Now())
		nextSecond()
		s.Edit(name, "two")
		nextSecond()
		if rolls, err := s.Reroll("migrate", "--set", c.setting, "-n", s.NS, "-o", "jsonpath={.items[?(@.rolls==true)].workload}"); err != nil || strings.TrimSpace(rolls) != "" {
			t.Errorf("%s: migrate says that it rolls %s: %v", name, rolls, err)
		}
		s.back("--set", c.setting)
		if name == "selected" {
			s.Kubectl("label", "namespace", s.NS, "shop="+s.NS)
		}
		s.Baselines(name, 1)
		s.Quiet()
		s.changed(name, 0)
		s.Edit(name, "three")
		s.Quiet()
		s.changed(name, 1)
	}
}
