package roll

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
)

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

	ctx, cancel := context.WithCancel(t.Context())
	var keeper sync.WaitGroup
	keeper.Go(func() { c.KeepJobs(ctx, slog.New(slog.DiscardHandler)) })
	line.Must(t, quotas.Delete(t.Context(), quota.Name, metav1.DeleteOptions{}))
	eventually(t, "the Job is created again", func() bool { return kept(t, w.UID) == 0 })
	cancel()
	keeper.Wait()
	checkRecreated(t, namespace, w.UID, born())
}
