package admission

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// other is a workload of a kind of other vendors, as kubectl sees it.
type other struct {
	Metadata struct {
		Generation  int64             `json:"generation"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Env []struct{ Name, Value string } `json:"env"`
				} `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// mark returns the value of a variable of the first container; empty if there is none.
func (o other) mark(variable string) string {
	for _, v := range o.Spec.Template.Spec.Containers[0].Env {
		if v.Name == variable {
			return v.Value
		}
	}
	return ""
}

func (s *site) other(resource, name string) other {
	s.t.Helper()
	text, err := shared.Kube.Kubectl(s.ctx, "get", "--namespace="+s.ns, resource, name, "-o", "yaml")
	s.must(err)
	var o other
	s.must(yaml.Unmarshal([]byte(text), &o))
	return o
}

// TestOtherKinds: Argo Rollouts and OpenShift's DeploymentConfigs, as their CRDs serve them, keep their marks as Deployments do: through
// a replace, and brought up to date by an apply that changes both. Nobody looks after them here, so that what counts is how
// often their spec changes.
func TestOtherKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, version, resource, annotation, variable string }{
		{"Rollout", "argoproj.io/v1alpha1", "rollouts.argoproj.io", auto, "STAKATER_APP_CONFIGMAP"},
		{"DeploymentConfig", "apps.openshift.io/v1", "deploymentconfigs.apps.openshift.io", auto, "STAKATER_APP_CONFIGMAP"},
		{"DeploymentConfig", "apps.openshift.io/v1", "deploymentconfigs.apps.openshift.io", "configmap.fabric8.io/update-on-change", "FABRIC8_APP_CONFIGMAP"},
	} {
		t.Run(c.kind+" "+c.variable, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			file := func(image string) string {
				text := strings.Replace(manifest(s.ns, "web", "app", image, c.annotation), "apiVersion: apps/v1\nkind: Deployment", "apiVersion: "+c.version+"\nkind: "+c.kind, 1)
				if c.kind == "DeploymentConfig" {
					text = strings.Replace(text, "{matchLabels: {app: web}}", "{app: web}", 1)
				}
				if c.annotation != auto {
					text = strings.Replace(text, c.annotation+": \"true\"", c.annotation+": app", 1)
				}
				return s.file("workload.yaml", text)
			}
			s.apply("client", s.configFile("app", "one"), file("1"))
			made := s.other(c.resource, "web")
			s.await(func() error {
				names, open, err := shared.Reroll.Settled(s.ctx, s.ns)
				if err == nil && (open > 0 || len(names) == 0) {
					err = fmt.Errorf("settled are %v, and %d are not", names, open)
				}
				return err
			})
			s.apply("client", s.configFile("app", "two"))
			if got := s.outcomes("web", 1); got[0] != "Reloaded" {
				t.Fatalf("the first change is %v", got)
			}
			rolled := s.other(c.resource, "web")
			if rolled.mark(c.variable) == made.mark(c.variable) || rolled.Metadata.Generation != 2 {
				t.Errorf("rolled, it is %+v", rolled)
			}
			s.kubectl("replace", "--namespace="+s.ns, "-f", file("1"))
			if after := s.other(c.resource, "web"); after.mark(c.variable) != rolled.mark(c.variable) || after.Metadata.Generation != 2 {
				t.Errorf("replaced by a file without the mark, it is %+v", after)
			}
			s.apply("argocd-controller", s.configFile("app", "three"), file("2"))
			if got := s.outcomes("web", 2); got[1] != "Reloaded" {
				t.Errorf("an apply of both is %v", got)
			}
			if after := s.other(c.resource, "web"); after.mark(c.variable) == rolled.mark(c.variable) || after.Metadata.Generation != 3 {
				t.Errorf("applied together with its config, it is %+v", after)
			}
		})
	}
}
