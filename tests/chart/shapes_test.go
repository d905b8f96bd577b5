package chart_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// runner is a StatefulSet or a Deployment of the chart.
type runner struct {
	name     string
	replicas int32
	pod      corev1.PodTemplateSpec
}

// role is what its pods run: serve, or one part.
func (w runner) role() string {
	parts := strings.TrimPrefix(w.pod.Spec.Containers[0].Args[2], "--components=")
	if strings.Contains(parts, ",") {
		return "serve"
	}
	return parts
}

func workloads(t *testing.T, objects []runtime.Object) (found []runner) {
	t.Helper()
	for _, object := range objects {
		switch o := object.(type) {
		case *appsv1.StatefulSet:
			found = append(found, runner{o.Name, *o.Spec.Replicas, o.Spec.Template})
		case *appsv1.Deployment:
			found = append(found, runner{o.Name, *o.Spec.Replicas, o.Spec.Template})
		}
	}
	if len(found) == 0 {
		t.Fatal("no workload rendered")
	}
	return found
}

func selects(t *testing.T, s *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Matches(labels.Set(of))
}

// rendered decodes what values of testdata become.
func rendered(t *testing.T, values string, args ...string) []runtime.Object {
	t.Helper()
	return decode(t, render(t, append([]string{"--values", filepath.Join("testdata", values, "values.yaml")}, args...)...))
}

// TestEverythingSelectsOneWorkload: a Service, budget or policy that selects the pods of two roles, or of none, does what nobody means.
func TestEverythingSelectsOneWorkload(t *testing.T) {
	for _, values := range []string{"default", "ha", "split", "hub", "fleet-member", "admission", "watched"} {
		objects := rendered(t, values)
		all := workloads(t, objects)
		check := func(what string, s metav1.LabelSelector) (chosen []runner) {
			t.Helper()
			for _, w := range all {
				if selects(t, &s, w.pod.Labels) {
					chosen = append(chosen, w)
				}
			}
			if len(chosen) != 1 {
				t.Errorf("%s: %s selects %d workloads", values, what, len(chosen))
			}
			return chosen
		}
		budgets, policies := 0, 0
		for _, object := range objects {
			switch o := object.(type) {
			case *corev1.Service:
				for _, w := range check("Service "+o.Name, metav1.LabelSelector{MatchLabels: o.Spec.Selector}) {
					checkService(t, o, w.pod.Labels, portsOf(w))
				}
			case *policyv1.PodDisruptionBudget:
				budgets++
				for _, w := range check("budget "+o.Name, *o.Spec.Selector) {
					if w.replicas < 2 {
						t.Errorf("%s: nobody can drain the node of %s", values, w.name)
					}
				}
			case *networkingv1.NetworkPolicy:
				policies++
				for _, w := range check("policy "+o.Name, o.Spec.PodSelector) {
					checkPolicyPorts(t, o, portsOf(w))
				}
			}
		}
		several := 0
		for _, w := range all {
			if w.replicas > 1 {
				several++
			}
		}
		if budgets != several {
			t.Errorf("%s: %d budgets for %d workloads with several replicas", values, budgets, several)
		}
		if policies != 0 && policies != len(all) {
			t.Errorf("%s: %d policies for %d workloads", values, policies, len(all))
		}
	}
}

// portsOf returns the names of the ports at which other pods are answered. An API on the loopback is not among them.
func portsOf(w runner) map[string]bool {
	ports, container := map[string]bool{}, w.pod.Spec.Containers[0]
	for _, p := range container.Ports {
		ports[p.Name] = p.Name != "api" || !slices.Contains(container.Args, "--api-address=127.0.0.1:8080")
	}
	maps.DeleteFunc(ports, func(_ string, answered bool) bool { return !answered })
	return ports
}

// checkPolicyPorts: every port of the pod is let in on some condition, and nothing else.
func checkPolicyPorts(t *testing.T, policy *networkingv1.NetworkPolicy, ports map[string]bool) {
	t.Helper()
	open := map[string]bool{}
	for _, rule := range policy.Spec.Ingress {
		for _, p := range rule.Ports {
			open[p.Port.String()] = true
		}
	}
	if diff := cmp.Diff(ports, open); diff != "" {
		t.Errorf("policy %s (-ports of the pod +let in):\n%s", policy.Name, diff)
	}
}

// grantsOf are the grants of the roles that an account of the release's namespace is bound to.
func grantsOf(objects []runtime.Object, account string) map[string][]string {
	var bound []runtime.Object
	names := map[string]bool{}
	for _, object := range objects {
		if key, subjects, ok := binding(object); ok && slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool { return s.Name == account }) {
			names[key] = true
		}
	}
	for _, object := range objects {
		for key := range roles([]runtime.Object{object}) {
			if names[key] {
				bound = append(bound, object)
			}
		}
	}
	return grants(bound)
}
