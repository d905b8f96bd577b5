package admission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
)

// inTemplate returns the mark that stands in an annotation of the pod template, and inVariable the one in a variable of its first container.
func inTemplate(key string) func(*appsv1.Deployment) string {
	return func(d *appsv1.Deployment) string { return d.Spec.Template.Annotations[key] }
}

func inVariable(name string) func(*appsv1.Deployment) string {
	return func(d *appsv1.Deployment) string {
		for _, v := range d.Spec.Template.Spec.Containers[0].Env {
			if v.Name == name {
				return v.Value
			}
		}
		return ""
	}
}

// TestAppliedWithTheMarksOfTools: what Flux and Argo CD apply for users of other tools rolls once where workload and config change together, and
// keeps the mark where it is applied again.
func TestAppliedWithTheMarksOfTools(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]struct {
		annotation string
		mark       func(*appsv1.Deployment) string
		length     int
	}{
		"SAP's pod-reloader":     {"pod-reloader.cs.sap.com/configmaps: app", inTemplate("pod-reloader.cs.sap.com/config-hash"), 64},
		"Wave":                   {`wave.pusher.com/update-on-config-change: "true"`, inTemplate("wave.pusher.com/config-hash"), 64},
		"kubernetes-reloader":    {"reloader.k8s.collaborne.com/configmap: app", inVariable("_RELOADER_CONFIGMAP_APP"), 40},
		"configmapcontroller":    {"configmap.fabric8.io/update-on-change: app", inVariable("FABRIC8_APP_CONFIGMAP"), 44},
		"k8s-trigger-controller": {"trigger.k8s.io/triggering-configMaps: app", inTemplate("trigger.k8s.io/configMap-app-last-hash"), 40},
	} {
		for _, manager := range []string{"kustomize-controller", "argocd-controller"} {
			t.Run(name+" and "+manager, func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				workload := func(image string) string {
					return s.file("deployment.yaml", strings.Replace(manifest(s.ns, "web", "app", image, "tool"), `tool: "true"`, tool.annotation, 1))
				}
				mark := func() string { return tool.mark(s.deployment("web")) }
				s.apply(manager, s.configFile("app", "one"), workload("1"))
				s.settled("web")
				s.apply(manager, s.configFile("app", "two"), workload("2"))
				if diff := cmp.Diff([]string{"Reloaded"}, s.outcomes("web", 1)); diff != "" {
					t.Errorf("what Reroll makes of both (-want +got):\n%s", diff)
				}
				second := mark()
				if len(second) != tool.length {
					t.Errorf("the mark is %q", second)
				}
				before := s.deployment("web")
				s.apply(manager, workload("2"))
				s.kubectl("replace", "--namespace="+s.ns, "-f", workload("2"))
				if diff := cmp.Diff(before.Spec, s.deployment("web").Spec); diff != "" {
					t.Errorf("applied again, the spec becomes (-before +after):\n%s", diff)
				}
				s.apply(manager, s.configFile("app", "three"))
				if diff := cmp.Diff([]string{"Reloaded", "Reloaded"}, s.outcomes("web", 2)); diff != "" {
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
