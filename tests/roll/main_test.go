package roll

import (
	"context"
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
	rig "github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

var cluster *rig.Cluster

func TestMain(m *testing.M) { rig.Main(m, &cluster, rig.Options{ControlPlaneOnly: true}) }

// own is Reroll's own namespace in these tests.
const own = "default"

// connect returns a process's connection to the cluster.
func connect(t *testing.T, kubeconfig string) *kube.Cluster {
	t.Helper()
	c, err := kube.Connect(t.Context(), kube.Options{
		Kubeconfig: kubeconfig, Namespace: own, QPS: 500, Burst: 500, UserAgent: "roll-test",
		KeepAnnotation: func(string) bool { return true },
	})
	line.Must(t, err)
	if _, err := c.DigestKeys(t.Context()); err != nil { // which sign what is kept of Jobs
		t.Fatal(err)
	}
	return c
}

// stamp is the annotation that says what a workload was rolled for.
const stamp = "reroll.dev/applied"

// rollOf returns a roll of w as the dispatcher makes it.
func rollOf(t *testing.T, w *workload.Workload) mark.Roll {
	t.Helper()
	config := reloader.Config{Kind: reloader.ConfigMap, Namespace: w.Namespace, Name: "prices"}
	written, err := mark.EnvVars.Marks(w, []mark.Entry{{Config: config, Value: "aa11", At: time.Unix(1, 0)}})
	line.Must(t, err)
	return mark.Roll{Name: "abcdefgh23456723", Hash: "h", Marks: written, Annotations: map[string]any{stamp: "of " + string(w.UID)}}
}

// marks returns the values of the marks of prices in a pod template.
func marks(template corev1.PodTemplateSpec) (values []string) {
	for _, e := range template.Spec.Containers[0].Env {
		if e.Name == "STAKATER_PRICES_CONFIGMAP" {
			values = append(values, e.Value)
		}
	}
	return values
}

// jobSpec is that of a Job whose pods find no node, so that it runs until it is deleted.
func jobSpec() batchv1.JobSpec {
	return batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		NodeSelector:  map[string]string{"no": "node"},
		Containers:    []corev1.Container{{Name: "main", Image: "example.test/main", Env: []corev1.EnvVar{{Name: "MODE", Value: "fast"}}}},
	}}}
}

// read returns the workload as it is now.
func read(t *testing.T, c *kube.Cluster, kind, namespace, name string) *workload.Workload {
	t.Helper()
	w, err := c.Read(t.Context(), reloader.WorkloadRef{Kind: kind, Namespace: namespace, Name: name})
	line.Must(t, err)
	return w
}

// eventually waits until ok, which is called again and again, says that it is so.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	line.Eventually(t, what, func(context.Context) error {
		if !ok() {
			return errors.New("not so yet")
		}
		return nil
	})
}

// births counts the Jobs of a namespace from its beginning on. The returned function gives how many there were.
func births(t *testing.T, namespace string) func() int {
	t.Helper()
	jobs := cluster.Client().BatchV1().Jobs(namespace)
	list, err := jobs.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) > 0 {
		t.Fatalf("%d Jobs at first: %v", len(list.Items), err)
	}
	return func() int {
		t.Helper()
		last := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "last"}, Spec: jobSpec()}
		_, err := jobs.Create(t.Context(), last, metav1.CreateOptions{})
		line.Must(t, err)
		w, err := jobs.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		line.Must(t, err)
		defer w.Stop()
		seen := map[string]bool{}
		for e := range w.ResultChan() {
			job, ok := e.Object.(*batchv1.Job)
			if !ok {
				t.Fatalf("watch: %v", e.Object)
			}
			if job.Name == last.Name {
				return len(seen)
			}
			seen[string(job.UID)] = true
		}
		t.Fatal("the watch ended")
		return 0
	}
}
