//go:build nightly

package behaviour

import (
	"errors"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

// policy refuses every change of a template in the namespace.
const policy = `
apiVersion: v1
kind: List
items:
- {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: NAMESPACE}, spec: {
   matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}]},
   validations: [{expression: "object.spec.template == oldObject.spec.template", message: no roll today}]}}
- {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: NAMESPACE}, spec: {policyName: NAMESPACE,
   validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}}}}
`

func TestRetry(t *testing.T) {
	s := newSite(t)
	writable := func() error {
		_, err := shared.Kube.Kubectl(s.ctx, "--namespace="+s.ns, "set", "image", "deployment/web", "web=other", "--dry-run=server")
		return err
	}
	s.apply(policy)
	s.await("a refusal", func() error { return unless(writable() != nil) })
	s.edit()
	s.held("Refused")
	s.await("ten attempts, after which the next one is half a minute away", func() error {
		var w struct{ Hold struct{ Attempts int } }
		err := shared.Reroll.Get(s.ctx, "/api/v1/workloads/"+line.ClusterName+"/"+s.ns+"/Deployment/web", &w)
		return errors.Join(err, unless(w.Hold.Attempts >= 10))
	})
	_, err := shared.Kube.Kubectl(s.ctx, "delete", "validatingadmissionpolicybinding", s.ns)
	s.must(err)
	s.await("no refusal", writable)
	s.refused(s.annotate("reroll.dev/retry=now")...)
	s.stays(0)
	asked := time.Now()
	s.allowed(s.annotate("reroll.dev/retry=now")...)
	// By itself it is tried again half a minute after the tenth attempt.
	if s.rolled(1); time.Since(asked) > 20*time.Second {
		t.Errorf("tried again after %s", time.Since(asked))
	}
}
