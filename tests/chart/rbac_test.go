package chart_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var (
	verbsLine  = regexp.MustCompile(`^\s*verbs: \[(.*)\]$`)
	reasonLine = regexp.MustCompile(`^\s*# ([a-z]+): \S.*\.`)
)

// TestEveryVerbHasAReason reads the rendered rules as text: above each stands one comment per verb, and none for another.
func TestEveryVerbHasAReason(t *testing.T) {
	rules := 0
	var reasons []string
	for line := range strings.Lines(render(t, "--show-only", "templates/rbac.yaml")) {
		line = strings.TrimRight(line, "\n")
		if m := reasonLine.FindStringSubmatch(line); m != nil {
			reasons = append(reasons, m[1])
		}
		m := verbsLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		rules++
		if diff := cmp.Diff(strings.Split(m[1], ", "), reasons); diff != "" {
			t.Errorf("rule %d (-verbs +reasons given):\n%s", rules, diff)
		}
		reasons = nil
	}
	if rules == 0 {
		t.Error("no rules rendered")
	}
}

// TestGrants lists what the service account may do, by kind of role. A new right is a decision, made here first.
func TestGrants(t *testing.T) {
	cluster := []string{
		"apps/daemonsets get,list,watch", "apps/deployments get,list,watch", "apps/statefulsets get,list,watch",
		"namespaces get",
	}
	roll := []string{
		"apps/daemonsets patch", "apps/deployments patch", "apps/statefulsets patch", "configmaps get,list",
		"events create,patch", "pods get,list", "secrets get",
	}
	own := []string{"secrets create", "secrets/reroll-digest-key get,update"}
	cases := map[string]struct {
		values string
		want   map[string][]string
	}{
		"cluster-wide": {"default", map[string][]string{
			"": sorted(append(slices.Clone(cluster), roll...)), namespace: own,
		}},
		"listed namespaces": {"namespaced", map[string][]string{
			"": cluster, "shop": roll, "billing": roll, namespace: own,
		}},
		"roles made elsewhere": {"external-nats", map[string][]string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects := decode(t, render(t, "--values", filepath.Join("testdata", tc.values, "values.yaml")))
			if diff := cmp.Diff(tc.want, grants(objects)); diff != "" {
				t.Errorf("grants by namespace (-want +got):\n%s", diff)
			}
		})
	}
}

// grants returns the rules of all roles by their namespace, "" for cluster-wide ones.
func grants(objects []runtime.Object) map[string][]string {
	found := map[string][]string{}
	for _, object := range objects {
		switch role := object.(type) {
		case *rbacv1.ClusterRole:
			found[""] = append(found[""], flatten(role.Rules)...)
		case *rbacv1.Role:
			found[role.Namespace] = append(found[role.Namespace], flatten(role.Rules)...)
		}
	}
	for ns := range found {
		found[ns] = sorted(found[ns])
	}
	return found
}

// flatten writes each rule as "group/resource/name verbs", one line per resource and name.
func flatten(rules []rbacv1.PolicyRule) []string {
	var lines []string
	for _, rule := range rules {
		group := strings.Join(rule.APIGroups, ",")
		if group != "" {
			group += "/"
		}
		name := strings.Join(rule.ResourceNames, ",")
		if name != "" {
			name = "/" + name
		}
		for _, resource := range rule.Resources {
			lines = append(lines, group+resource+name+" "+strings.Join(rule.Verbs, ","))
		}
	}
	return lines
}

func sorted(lines []string) []string {
	slices.Sort(lines)
	return lines
}

// TestBindingsMeetTheirRoles checks that each binding names a rendered role of its own scope and the pod's account.
func TestBindingsMeetTheirRoles(t *testing.T) {
	for _, folder := range valuesCases(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			objects := decode(t, render(t, "--values", folder+"/values.yaml"))
			account := rbacv1.Subject{
				Kind: "ServiceAccount", Namespace: namespace,
				Name: statefulSet(t, objects).Spec.Template.Spec.ServiceAccountName,
			}
			unbound := roles(objects)
			for _, object := range objects {
				key, subjects, ok := binding(object)
				if !ok {
					continue
				}
				if !unbound[key] {
					t.Errorf("a binding names %s, which is not rendered", key)
				}
				delete(unbound, key)
				if diff := cmp.Diff([]rbacv1.Subject{account}, subjects); diff != "" {
					t.Errorf("subjects of %s (-want +got):\n%s", key, diff)
				}
			}
			if len(unbound) > 0 {
				t.Errorf("roles that nobody has: %v", unbound)
			}
		})
	}
}

// roles names the rendered roles as kind/namespace/name.
func roles(objects []runtime.Object) map[string]bool {
	found := map[string]bool{}
	for _, object := range objects {
		switch role := object.(type) {
		case *rbacv1.ClusterRole:
			found["ClusterRole//"+role.Name] = true
		case *rbacv1.Role:
			found["Role/"+role.Namespace+"/"+role.Name] = true
		}
	}
	return found
}

// binding returns the role that a binding names, as roles does, and who gets it.
func binding(object runtime.Object) (role string, subjects []rbacv1.Subject, ok bool) {
	switch b := object.(type) {
	case *rbacv1.ClusterRoleBinding:
		return b.RoleRef.Kind + "//" + b.RoleRef.Name, b.Subjects, true
	case *rbacv1.RoleBinding:
		return b.RoleRef.Kind + "/" + b.Namespace + "/" + b.RoleRef.Name, b.Subjects, true
	}
	return "", nil, false
}
