//go:build nightly

package roll

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const policy = `
apiVersion: v1
kind: List
items:
- {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: NAMESPACE}, spec: {
   matchConstraints: {resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]},
   validations: [{expression: "false", message: no Jobs today}]}}
- {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: NAMESPACE}, spec: {policyName: NAMESPACE,
   validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}}}}
`

// refuseJobs has an admission policy refuse new Jobs in a namespace, and returns what ends that.
func refuseJobs(t *testing.T, namespace string) (relent func()) {
	t.Helper()
	do := func(verb string) {
		cmd := cluster.Command(context.WithoutCancel(t.Context()), verb, "--filename=-")
		cmd.Stdin = strings.NewReader(strings.ReplaceAll(policy, "NAMESPACE", namespace))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s the policy: %v: %s", verb, err, out)
		}
	}
	do("apply")
	relent = sync.OnceFunc(func() { do("delete") })
	t.Cleanup(relent)
	eventually(t, "the policy is enforced", func() bool {
		probe := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: jobSpec()}
		_, err := cluster.Client().BatchV1().Jobs(namespace).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
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
