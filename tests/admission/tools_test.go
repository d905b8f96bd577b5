package admission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAppliedWithTheMarksOfTools: what Flux and Argo CD apply for users of SAP's pod-reloader and of Wave rolls once where workload and config
// change together, and keeps the mark where it is applied again.
func TestAppliedWithTheMarksOfTools(t *testing.T) {
	for name, tool := range map[string]struct{ annotation, mark string }{
		"SAP's pod-reloader": {"pod-reloader.cs.sap.com/configmaps: app", "pod-reloader.cs.sap.com/config-hash"},
		"Wave":               {`wave.pusher.com/update-on-config-change: "true"`, "wave.pusher.com/config-hash"},
	} {
		for _, manager := range []string{"kustomize-controller", "argocd-controller"} {
			t.Run(name+" and "+manager, func(t *testing.T) {
				s := newSite(t)
				workload := func(image string) string {
					return s.file("deployment.yaml", strings.Replace(manifest(s.ns, "web", "app", image, "tool"), `tool: "true"`, tool.annotation, 1))
				}
				mark := func() string { return s.deployment("web").Spec.Template.Annotations[tool.mark] }
				s.apply(manager, s.configFile("app", "one"), workload("1"))
				s.settled("web")
				first := mark()
				s.apply(manager, s.configFile("app", "two"), workload("2"))
				if diff := cmp.Diff([]string{"AlreadyCurrent"}, s.outcomes("web", 1)); diff != "" {
					t.Errorf("what Reroll makes of both (-want +got):\n%s", diff)
				}
				second := mark()
				if len(first) != 64 || len(second) != 64 || first == second {
					t.Errorf("the mark was %q and is %q", first, second)
				}
				before := s.deployment("web")
				s.apply(manager, workload("2"))
				s.kubectl("replace", "--namespace="+s.ns, "-f", workload("2"))
				if diff := cmp.Diff(before.Spec, s.deployment("web").Spec); diff != "" {
					t.Errorf("applied again, the spec becomes (-before +after):\n%s", diff)
				}
				s.apply(manager, s.configFile("app", "three"))
				if diff := cmp.Diff([]string{"AlreadyCurrent", "Reloaded"}, s.outcomes("web", 2)); diff != "" {
					t.Errorf("what Reroll makes of the config alone (-want +got):\n%s", diff)
				}
				third := mark()
				s.apply(manager, workload("2"))
				if now := mark(); now != third || third == second {
					t.Errorf("applied after a roll, the mark is %q; it was %q, and %q before that", now, third, second)
				}
				if n := s.replicaSets("web"); n != 3 {
					t.Errorf("%d ReplicaSets after all, want 3", n)
				}
			})
		}
	}
}
