package roll

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/workload"
	"github.com/reroll-dev/reroll/tests/line"
)

// makeJob creates a Job named "import" in a namespace. Nothing acts on it.
func makeJob(t *testing.T, namespace string, change func(*batchv1.Job)) {
	t.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "import"}, Spec: jobSpec()}
	if change != nil {
		change(job)
	}
	if _, err := cluster.Client().BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func getJob(t *testing.T, namespace string) *batchv1.Job {
	t.Helper()
	job, err := cluster.Client().BatchV1().Jobs(namespace).Get(t.Context(), "import", metav1.GetOptions{})
	line.Must(t, err)
	return job
}

// kept returns how many manifests of the Job of that UID are kept.
func kept(t *testing.T, uid types.UID) int {
	t.Helper()
	list, err := cluster.Client().CoreV1().Secrets(own).List(t.Context(), metav1.ListOptions{LabelSelector: kube.ManifestLabel})
	line.Must(t, err)
	n := 0
	for i := range list.Items {
		if list.Items[i].Type == kube.ManifestType && list.Items[i].Name == "reroll-job-"+string(uid) {
			n++
		}
	}
	return n
}

// checkRecreated checks that the Job stands again, once and with its mark, and that nothing is left of how it came about.
func checkRecreated(t *testing.T, namespace string, old types.UID, born int) {
	t.Helper()
	job := getJob(t, namespace)
	if job.UID == old || job.DeletionTimestamp != nil {
		t.Errorf("the old Job stands")
	}
	if diff := cmp.Diff([]string{"aa11"}, marks(job.Spec.Template)); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	if born != 2 {
		t.Errorf("%d Jobs were made, want the old one and the new one", born)
	}
	if n := kept(t, old); n != 0 {
		t.Errorf("%d manifests are left", n)
	}
}

// outrun reports whether err says that another process has recreated the Job, or is about to: the Job is read and decided about again.
func outrun(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }

// TestJobIsRecreated: of replicas that roll a Job at once, one recreates it, with what its author has written. The same roll once more is a conflict.
func TestJobIsRecreated(t *testing.T) {
	namespace := cluster.Namespace(t)
	born := births(t, namespace)
	makeJob(t, namespace, func(job *batchv1.Job) {
		job.Labels, job.Annotations = map[string]string{"team": "a"}, map[string]string{"note": "n"}
	})
	c := connect(t, cluster.Kubeconfig())
	w := read(t, c, "Job", namespace, "import")
	r := rollOf(t, w)
	var replicas sync.WaitGroup
	var winner atomic.Pointer[workload.Workload]
	for range 3 {
		replica := connect(t, cluster.Kubeconfig())
		replicas.Go(func() {
			if rolled, err := replica.Roll(t.Context(), w, r); err == nil {
				winner.Store(rolled)
			} else if !outrun(err) {
				t.Errorf("Roll: %v", err)
			}
		})
	}
	replicas.Wait()
	job, rolled := getJob(t, namespace), winner.Load()
	if rolled == nil || rolled.UID != job.UID || job.Labels["team"] != "a" || job.Annotations["note"] != "n" || job.Annotations[stamp] == "" {
		t.Errorf("rolled %+v, Job %s with labels %v, annotations %v", rolled, job.UID, job.Labels, job.Annotations)
	}
	if _, err := c.Roll(t.Context(), w, r); !apierrors.IsConflict(err) {
		t.Errorf("the same roll once more: %v; want a conflict, so that it is decided again", err)
	}
	checkRecreated(t, namespace, w.UID, born())
}

// TestJobIsNeverLost: a process dies before or during each of the requests that a recreation takes, or its answer is lost and it continues. The Job
// stands again, once: by the next process, or by the next RecoverJobs of its own.
func TestJobIsNeverLost(t *testing.T) {
	for n, step := range []string{"read", "keep", "delete", "create", "drop"} {
		for name, how := range map[string]struct{ lose, continues bool }{"dies before ": {}, "dies during ": {lose: true}, "loses the answer of ": {true, true}} {
			t.Run(name+step, func(t *testing.T) {
				namespace := cluster.Namespace(t)
				born := births(t, namespace)
				makeJob(t, namespace, nil)
				p := newProxy(t)
				c := connect(t, p.Kubeconfig)
				w := read(t, c, "Job", namespace, "import")
				r := rollOf(t, w)
				_, err := c.Roll(p.dieAfter(t, n, how.lose), w, r)
				if n < 4 && (err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown) {
					t.Errorf("Roll: %v (%s), want an error that may pass", err, apierrors.ReasonForError(err))
				}
				if p.live(); !how.continues {
					c = connect(t, cluster.Kubeconfig())
					line.Must(t, c.RecoverJobs(t.Context()))
				}
				if _, err := c.Roll(t.Context(), w, r); err != nil && !outrun(err) {
					t.Errorf("the roll once more: %v", err)
				}
				if err := c.RecoverJobs(t.Context()); err != nil {
					t.Error(err)
				}
				checkRecreated(t, namespace, w.UID, born())
			})
		}
	}
}

// TestLateDeleteLosesNoJob: the request of a process that died is carried out after another one has looked at what was left. The Job stands again,
// and a Job that has changed meanwhile is not deleted.
func TestLateDeleteLosesNoJob(t *testing.T) {
	for name, changes := range map[string]bool{"as it was": false, "changed meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			namespace := cluster.Namespace(t)
			makeJob(t, namespace, nil)
			p := newProxy(t)
			mortal := connect(t, p.Kubeconfig)
			w := read(t, mortal, "Job", namespace, "import")
			ctx, carryOut := p.dieWhileDeleting(t)
			if _, err := mortal.Roll(ctx, w, rollOf(t, w)); err == nil {
				t.Fatal("the process did not die")
			}
			c := connect(t, cluster.Kubeconfig())
			if changes {
				patchJob(t, namespace, `{"metadata":{"annotations":{"changed":"yes"}}}`)
			}
			line.Must(t, c.RecoverJobs(t.Context()))
			if job := getJob(t, namespace); job.UID != w.UID {
				t.Fatal("the Job was recreated before it was deleted")
			}
			carryOut()
			eventually(t, "the Job stands", func() bool {
				if err := c.RecoverJobs(t.Context()); err != nil {
					return false
				}
				job, err := cluster.Client().BatchV1().Jobs(namespace).Get(t.Context(), "import", metav1.GetOptions{})
				return err == nil && job.DeletionTimestamp == nil && (job.UID == w.UID) == changes
			})
			if n := kept(t, w.UID); n != 0 {
				t.Errorf("%d manifests are left", n)
			}
		})
	}
}

func patchJob(t *testing.T, namespace, patch string) {
	t.Helper()
	jobs := cluster.Client().BatchV1().Jobs(namespace)
	_, err := jobs.Patch(context.WithoutCancel(t.Context()), "import", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	line.Must(t, err)
}

func TestJobThatFinishedMeanwhileIsNotRunAgain(t *testing.T) {
	namespace := cluster.Namespace(t)
	makeJob(t, namespace, nil)
	c := connect(t, cluster.Kubeconfig())
	w := read(t, c, "Job", namespace, "import")
	r := rollOf(t, w)
	job, now := getJob(t, namespace), metav1.Now()
	job.Status = batchv1.JobStatus{StartTime: &now, CompletionTime: &now, Succeeded: 1, Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue}, {Type: batchv1.JobComplete, Status: corev1.ConditionTrue},
	}}
	if _, err := cluster.Client().BatchV1().Jobs(namespace).UpdateStatus(t.Context(), job, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*workload.Workload{w, read(t, c, "Job", namespace, "import")} {
		if _, err := c.Roll(t.Context(), w, r); !apierrors.IsConflict(err) {
			t.Errorf("Roll: %v, want a conflict, so that it is decided again", err)
		}
	}
	if job := getJob(t, namespace); job.UID != w.UID || kept(t, w.UID) != 0 {
		t.Errorf("a finished Job was recreated")
	}
}

func TestJobWithFinalizerIsRecreatedOnceItIsGone(t *testing.T) {
	namespace := cluster.Namespace(t)
	makeJob(t, namespace, func(job *batchv1.Job) { job.Finalizers = []string{"example.test/held"} })
	letGo := func() { patchJob(t, namespace, `{"metadata":{"finalizers":null}}`) }
	t.Cleanup(letGo) // or its namespace never goes
	c := connect(t, cluster.Kubeconfig())
	w := read(t, c, "Job", namespace, "import")
	if _, err := c.Roll(t.Context(), w, rollOf(t, w)); err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		t.Errorf("Roll: %v (%s), want an error that may pass", err, apierrors.ReasonForError(err))
	}
	if err := c.RecoverJobs(t.Context()); err == nil || kept(t, w.UID) != 1 {
		t.Errorf("while the old Job exists: %v, %d manifests", err, kept(t, w.UID))
	}
	letGo()
	line.Must(t, c.RecoverJobs(t.Context()))
	job := getJob(t, namespace)
	if diff := cmp.Diff([]string{"example.test/held"}, job.Finalizers); diff != "" || job.UID == w.UID {
		t.Errorf("finalizers of the new Job (-want +got):\n%s", diff)
	}
}

// TestJobRefusedAfterItsDeletionIsKeptUntilItIsAccepted: a quota refuses every new Job.
func TestJobRefusedAfterItsDeletionIsKeptUntilItIsAccepted(t *testing.T) {
	namespace := cluster.Namespace(t)
	born := births(t, namespace)
	makeJob(t, namespace, nil)
	c := connect(t, cluster.Kubeconfig())
	w := read(t, c, "Job", namespace, "import")
	r := rollOf(t, w)
	none := corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")}
	quotas := cluster.Client().CoreV1().ResourceQuotas(namespace)
	quota, err := quotas.Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "no-jobs-today"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}, metav1.CreateOptions{})
	line.Must(t, err)
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none} // no controller runs here
	_, err = quotas.UpdateStatus(t.Context(), quota, metav1.UpdateOptions{})
	line.Must(t, err)
	eventually(t, "the quota is enforced", func() bool {
		probe := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: jobSpec()}
		_, err := cluster.Client().BatchV1().Jobs(namespace).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "no-jobs-today")
	})

	_, err = c.Roll(t.Context(), w, r)
	if err == nil || !strings.Contains(err.Error(), "no-jobs-today") || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		t.Errorf("Roll: %v (%s), want an error that says why and may pass", err, apierrors.ReasonForError(err))
	}
	if err := connect(t, cluster.Kubeconfig()).RecoverJobs(t.Context()); err == nil {
		t.Error("a recovery that is refused as well says nothing")
	}
	if kept(t, w.UID) != 1 {
		t.Fatal("the Job is gone and its manifest too")
	}

	line.Must(t, quotas.Delete(t.Context(), quota.Name, metav1.DeleteOptions{}))
	eventually(t, "the Job is created again", func() bool { return c.RecoverJobs(t.Context()) == nil })
	checkRecreated(t, namespace, w.UID, born())
}
