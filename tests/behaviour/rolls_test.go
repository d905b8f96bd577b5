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
func (s *shopfront) runs(deployment, name string, started time.Time) {
	s.t.Helper()
	client := shared.Kube.Client()
	d, err := client.AppsV1().Deployments(s.ns).Get(s.t.Context(), deployment, metav1.GetOptions{})
	s.must(err)
	template := d.Spec.Template
	pod, err := client.CoreV1().Pods(s.ns).Create(s.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: template.Labels, Annotations: template.Annotations}, Spec: template.Spec,
	}, metav1.CreateOptions{})
	s.must(err)
	state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError"}}
	if !started.IsZero() {
		state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: template.Spec.Containers[0].Name, State: state}}
	_, err = client.CoreV1().Pods(s.ns).UpdateStatus(s.t.Context(), pod, metav1.UpdateOptions{})
	s.must(err)
}

// gone deletes an object at once.
func (s *shopfront) gone(object string) {
	s.t.Helper()
	s.kubectl("", "delete", object, "--grace-period=0", "--force", "--ignore-not-found")
}

// away ends the process, and lose forgets what NATS had. With forget, Reroll has never been installed.
func (s *shopfront) away(lose, forget bool) {
	s.t.Helper()
	s.must(shared.Reroll.Terminate(s.t.Context()))
	if lose {
		s.must(os.RemoveAll(shared.DataDir()))
		s.must(os.MkdirAll(shared.DataDir(), 0o700))
	}
	if forget {
		_, err := shared.Kube.Kubectl(s.t.Context(), "--namespace=default", "delete", "configmaps", "--selector=reroll.dev/ledger")
		s.must(err)
	}
}

// back starts the process again.
func (s *shopfront) back(flags ...string) {
	s.t.Helper()
	s.must(shared.Reroll.Start(flags...))
	s.must(shared.Reroll.WaitReady(s.t.Context()))
	s.decided()
}

// nextSecond waits for the second after a time: what the API server dates tells no two times of one second apart.
func (s *shopfront) nextSecond(t time.Time) {
	s.t.Helper()
	select {
	case <-time.After(time.Until(t.Truncate(time.Second).Add(time.Second))):
	case <-s.t.Context().Done():
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
	s := newShopfront(t)
	jobs := func(want int) {
		t.Helper()
		list, err := shared.Kube.Client().BatchV1().Jobs(s.ns).List(t.Context(), metav1.ListOptions{})
		s.must(err)
		if len(list.Items) != want {
			t.Errorf("%d Jobs, want %d", len(list.Items), want)
		}
	}
	s.kubectl(s.fill(config+"---"+nightly, "web", "one", ""), "apply", "-f", "-")
	s.decided()
	s.edit("web", "two")
	s.decided()
	jobs(1)
	s.kubectl("", "delete", "jobs", "--all", "--wait")
	for range 2 {
		s.away(true, false)
		s.back()
		jobs(0)
	}
	s.away(true, true)
	s.edit("web", "three")
	s.nextSecond(time.Now())
	s.back()
	jobs(0)
	s.edit("web", "four")
	s.decided()
	jobs(1)
}

// TestFirstSight: what was written before Reroll was installed rolls nothing, though a pod is older. What is written after that, while nothing runs and
// the history is lost, rolls once.
func TestFirstSight(t *testing.T) {
	s := newShopfront(t)
	s.away(true, true)
	s.kubectl(s.fill(config+"---"+deployment, "web", "one", "1"), "apply", "-f", "-")
	s.runs("web", "old", time.Now())
	s.nextSecond(time.Now())
	s.edit("web", "two")
	s.nextSecond(time.Now())
	s.back()
	s.changed("web", 0)
	s.away(true, false)
	s.nextSecond(time.Now())
	s.edit("web", "three")
	s.back()
	s.changed("web", 1)
	s.afterwards("web", 1)
}

// TestPodsThatNeverStarted: a container that waits for a key has read nothing, so that the pod is not replaced when the key comes. Once it has started, it is.
func TestPodsThatNeverStarted(t *testing.T) {
	s := newShopfront(t)
	s.kubectl(s.fill(config+"---"+strings.Replace(deployment, "envFrom: [{configMapRef: {name: NAME}}]",
		"env: [{name: A, valueFrom: {configMapKeyRef: {name: NAME, key: needed}}}]", 1), "web", "one", "1"), "apply", "-f", "-")
	s.runs("web", "waits", time.Time{})
	s.decided()
	needed := func(value string) {
		t.Helper()
		s.kubectl("", "patch", "configmap/web", "-p", fmt.Sprintf(`{"data":{"needed":%q}}`, value))
		s.decided()
	}
	needed("1")
	s.changed("web", 0)
	s.gone("pod/waits")
	s.runs("web", "runs", time.Now())
	s.nextSecond(time.Now())
	needed("2")
	s.changed("web", 1)
}

// TestOwnRestart: who edits a config and restarts the workload within its debounce window has restarted it for the edit. So has one whose apply renames a
// config that a pattern matches.
func TestOwnRestart(t *testing.T) {
	s := newShopfront(t)
	s.away(false, false)
	s.back("--reload-on-create=true")
	defer func() { s.away(false, false); s.back() }()
	patient := strings.Replace(deployment, `reroll.dev/auto: "true"`, `reroll.dev/configmaps: "NAME*", reroll.dev/window: 5s`, 1)
	s.kubectl(s.fill(config+"---"+patient, "web", "one", "1"), "apply", "-f", "-")
	s.runs("web", "old", time.Now())
	s.decided()
	s.edit("web", "two")
	s.kubectl("", "rollout", "restart", "deployment/web")
	s.gone("pod/old")
	s.runs("web", "new", time.Now().Add(time.Second))
	s.decided()
	s.changed("web", 1)
	renamed := strings.ReplaceAll(patient, "{configMapRef: {name: NAME}}", "{configMapRef: {name: NAME-2}}")
	s.kubectl(s.fill(strings.Replace(config, "NAME", "NAME-2", 1)+"---"+renamed, "web", "three", "1"), "apply", "-f", "-")
	s.gone("pod/new")
	s.runs("web", "newer", time.Now().Add(time.Second))
	s.decided()
	s.changed("web", 2)
}

// TestChangeWhileStarting: what changes between the opt-in and the first look is a change, wherever in the start of the process that falls. Workloads are
// made one after another until it is ready, and the config of each is edited once its pod has started.
func TestChangeWhileStarting(t *testing.T) {
	s := newShopfront(t)
	client := shared.Kube.Client()
	s.away(false, false)
	configs := client.CoreV1().ConfigMaps(s.ns)
	for i := range 100 {
		_, err := configs.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i)}, Data: map[string]string{"k": "one"}}, metav1.CreateOptions{})
		s.must(err)
	}
	s.nextSecond(time.Now())
	s.must(shared.Reroll.Start())
	ready := make(chan error, 1)
	go func() { ready <- shared.Reroll.WaitReady(t.Context()) }()
	var names []string
	for done := false; !done && len(names) < 100; {
		name := fmt.Sprintf("web-%d", len(names))
		names = append(names, name)
		_, err := client.AppsV1().Deployments(s.ns).Create(t.Context(), line.Deployment(s.ns, name, map[string]string{"reroll.dev/auto": "true"}, line.FromConfigMap(name)), metav1.CreateOptions{})
		s.must(err)
		s.runs(name, name, time.Now())
		_, err = configs.Patch(t.Context(), name, types.MergePatchType, []byte(`{"data":{"k":"two"}}`), metav1.PatchOptions{})
		s.must(err)
		select {
		case err := <-ready:
			s.must(err)
			done = true
		default:
		}
	}
	s.must(shared.Reroll.WaitReady(t.Context()))
	s.decided()
	t.Logf("%d workloads were made while the process started", len(names))
	for _, name := range names {
		s.changed(name, 1)
	}
}

// TestTakenVariable: a container has a variable of the mark's name that takes its value from elsewhere. The variable stays, the workload rolls by its
// config-hash, and others that use the config roll, too.
func TestTakenVariable(t *testing.T) {
	s := newShopfront(t)
	mine := strings.Replace(deployment, `reroll.dev/auto: "true"`, `reloader.stakater.com/auto: "true"`, 1)
	taken := strings.Replace(mine, "envFrom:", "env: [{name: STAKATER_WEB_CONFIGMAP, valueFrom: {fieldRef: {fieldPath: metadata.name}}}], envFrom:", 1)
	other := strings.ReplaceAll(s.fill(mine, "other", "", "1"), "configMapRef: {name: other}", "configMapRef: {name: web}")
	s.kubectl(s.fill(config+"---"+taken, "web", "one", "1")+"---"+other, "apply", "-f", "-")
	s.decided()
	s.edit("web", "two")
	s.decided()
	s.changed("web", 1)
	s.changed("other", 1)
	env, err := s.try("", "get", "deployment/web", "-o", "jsonpath={.spec.template.spec.containers[0].env}")
	s.must(err)
	if !strings.Contains(env, "metadata.name") || strings.Contains(env, `"value"`) {
		t.Errorf("the variable is %s", env)
	}
}
