package roll

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/tests/line"
)

// makeCronJob creates a CronJob that starts nothing by itself while a test runs, and returns its namespace and name.
func makeCronJob(t *testing.T) (namespace, name string) {
	t.Helper()
	namespace, name = cluster.Namespace(t), "report-"+strings.Repeat("x", 45) // the longest name that a CronJob may have
	_, err := cluster.Client().BatchV1().CronJobs(namespace).Create(t.Context(), &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.CronJobSpec{
			Schedule: "0 0 29 2 *", ConcurrencyPolicy: batchv1.ForbidConcurrent,
			JobTemplate: batchv1.JobTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"note": "n"}}, Spec: jobSpec(),
			},
		},
	}, metav1.CreateOptions{})
	line.Must(t, err)
	return namespace, name
}

func jobsIn(t *testing.T, namespace string) []batchv1.Job {
	t.Helper()
	list, err := cluster.Client().BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{})
	line.Must(t, err)
	return list.Items
}

// TestCronJobStartsOneJob: of several replicas that roll a CronJob, one starts a Job.
func TestCronJobStartsOneJob(t *testing.T) {
	namespace, name := makeCronJob(t)
	c := connect(t, cluster.Kubeconfig())
	w := read(t, c, "CronJob", namespace, name)
	r := rollOf(t, w)

	var replicas sync.WaitGroup
	for range 4 {
		replica := connect(t, cluster.Kubeconfig())
		replicas.Go(func() {
			if rolled, err := replica.Roll(t.Context(), w, r); err != nil || rolled != w {
				t.Errorf("Roll = %v, %v", rolled, err)
			}
		})
	}
	replicas.Wait()
	if _, err := c.Roll(t.Context(), w, r); err != nil {
		t.Errorf("the same roll once more: %v", err)
	}

	jobs := jobsIn(t, namespace)
	if len(jobs) != 1 {
		t.Fatalf("%d Jobs, want one", len(jobs))
	}
	job := jobs[0]
	if diff := cmp.Diff([]string{"aa11"}, marks(job.Spec.Template)); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	want := map[string]string{"note": "n", "cronjob.kubernetes.io/instantiate": "manual", stamp: "of " + string(w.UID)}
	if diff := cmp.Diff(want, job.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if owner := metav1.GetControllerOf(&job); owner == nil || owner.UID != w.UID || job.Labels["team"] != "a" || len(job.Name) > 63 {
		t.Errorf("Job %s, labels %v, owner %v", job.Name, job.Labels, owner)
	}
	after, err := cluster.Client().BatchV1().CronJobs(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || after.Generation != w.Generation || len(after.Annotations) != 0 {
		t.Errorf("the CronJob was written: %+v, %v", after.ObjectMeta, err)
	}
}

func TestCronJobStartedBeforeACrashIsNotStartedAgain(t *testing.T) {
	namespace, name := makeCronJob(t)
	p := newProxy(t)
	c := connect(t, p.Kubeconfig)
	w := read(t, c, "CronJob", namespace, name)
	r := rollOf(t, w)
	if _, err := c.Roll(p.dieAfter(t, 1, true), w, r); err == nil {
		t.Error("the process is told of a Job although the answer was lost")
	}
	if n := len(jobsIn(t, namespace)); n != 1 {
		t.Fatalf("%d Jobs after the crash, want one", n)
	}
	if _, err := connect(t, cluster.Kubeconfig()).Roll(t.Context(), w, r); err != nil {
		t.Error(err)
	}
	if n := len(jobsIn(t, namespace)); n != 1 {
		t.Errorf("%d Jobs, want one", n)
	}
}

// TestTakenVariableOfJobs: a container has a variable of the mark's name that takes its value from elsewhere. A roll with that mark is refused, as
// TestInPlace shows for the kinds that are changed in place, and no Job is deleted. The roll that Reroll makes leaves the mark out.
func TestTakenVariableOfJobs(t *testing.T) {
	taken := []corev1.EnvVar{{Name: "STAKATER_PRICES_CONFIGMAP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}}}
	namespace := cluster.Namespace(t)
	makeJob(t, namespace, func(job *batchv1.Job) { job.Spec.Template.Spec.Containers[0].Env = taken })
	c := connect(t, cluster.Kubeconfig())
	w := read(t, c, "Job", namespace, "import")
	r := rollOf(t, w)
	forced := r
	forced.Marks = []mark.Mark{{Place: mark.Place{Env: taken[0].Name, Containers: []string{"main"}}, Value: "aa11"}}
	if _, err := c.Roll(t.Context(), w, forced); !apierrors.IsInvalid(err) {
		t.Errorf("a roll with the mark: %v, want invalid", err)
	}
	if job := getJob(t, namespace); job.UID != w.UID {
		t.Error("a roll that is refused has recreated the Job")
	}
	_, err := c.Roll(t.Context(), w, r)
	line.Must(t, err)
	template := getJob(t, namespace).Spec.Template
	if diff := cmp.Diff(taken, template.Spec.Containers[0].Env); diff != "" || template.Annotations[mark.HashKey] != "h" {
		t.Errorf("%v (-want +got):\n%s", template.Annotations, diff)
	}
}
