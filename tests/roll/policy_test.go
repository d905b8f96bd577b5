//go:build nightly

package roll

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refuseJobs has an admission policy refuse new Jobs in a namespace, and returns what ends that.
func refuseJobs(t *testing.T, namespace string) (relent func()) {
	t.Helper()
	ctx, admission := t.Context(), cluster.Client().AdmissionregistrationV1()
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	policy.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"jobs"}},
		},
	}}}
	policy.Spec.Validations = []admissionv1.Validation{{Expression: "false", Message: "no Jobs today"}}
	if _, err := admission.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	binding.Spec = admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: namespace, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace},
		}},
	}
	if _, err := admission.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	relent = func() {
		_ = admission.ValidatingAdmissionPolicyBindings().Delete(context.WithoutCancel(ctx), namespace, metav1.DeleteOptions{})
		_ = admission.ValidatingAdmissionPolicies().Delete(context.WithoutCancel(ctx), namespace, metav1.DeleteOptions{})
	}
	t.Cleanup(relent)
	eventually(t, "the policy is enforced", func() bool {
		probe := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: jobSpec()}
		_, err := cluster.Client().BatchV1().Jobs(namespace).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "no Jobs today")
	})
	return relent
}

func TestJobRefusedAfterItsDeletionIsKeptUntilItIsAccepted(t *testing.T) {
	namespace := cluster.Namespace(t)
	born := births(t, namespace)
	makeJob(t, namespace, nil)
	c := connect(t, cluster.Kubeconfig())
	w := read(t, c, "Job", namespace, "import")
	r := rollOf(t, w)
	relent := refuseJobs(t, namespace)

	_, err := c.Roll(t.Context(), w, r)
	if err == nil || !strings.Contains(err.Error(), "no Jobs today") || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
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
	relent()
	eventually(t, "the Job is created again", func() bool { return kept(t, w.UID) == 0 })
	cancel()
	keeper.Wait()
	checkRecreated(t, namespace, w.UID, born())
}
