package admission

import (
	"fmt"
	"strings"
	"testing"
)

// TestFail: where an installation says Fail, as SAP's pod-reloader does, a workload that has opted in is not stored while the webhook is away;
// but everybody else is, and other than with SAP's, so is whatever does not touch the workload itself. A config that is missing refuses nothing.
func TestFail(t *testing.T) {
	s := newSite(t)
	policy := func(name string) {
		s.kubectl("patch", "mutatingwebhookconfiguration", configuration, "--type=json",
			"--patch", fmt.Sprintf(`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":%q}]`, name))
	}
	s.apply("client", s.configFile("app", "one"), s.deploymentFile("web", "app", "1", "pod-reloader.cs.sap.com/configmaps"),
		s.deploymentFile("early", "missing", "1", auto), s.deploymentFile("late", "app", "1", auto))
	policy("Fail")
	defer policy("Ignore")
	s.apply("client", s.deploymentFile("early", "missing", "2", auto))

	shared.Reroll.Kill()
	refused := func() error {
		_, err := shared.Kube.Kubectl(s.ctx, "apply", "--namespace="+s.ns, "-f", s.deploymentFile("late", "app", "2", auto))
		return err
	}
	s.await(func() error { // the API server hears of the policy a moment later
		if err := refused(); err == nil || !strings.Contains(err.Error(), "marks.admission.reroll.dev") {
			s.apply("client", s.deploymentFile("late", "app", "1", auto))
			return fmt.Errorf("a workload that has opted in is answered %v", err)
		}
		return nil
	})
	s.apply("client", s.deploymentFile("plain", "app", "1"), s.configFile("app", "two"))
	s.kubectl("scale", "--namespace="+s.ns, "deployment/web", "--replicas=2")

	s.must(shared.Reroll.Start())
	s.must(shared.Reroll.WaitReady(s.ctx))
	s.await(refused)
	if s.mark("late", "app") == "" {
		t.Error("once it is back, a workload is stored without its mark")
	}
}
