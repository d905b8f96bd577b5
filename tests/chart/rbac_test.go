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
	"sigs.k8s.io/yaml"
)

var (
	verbsLine  = regexp.MustCompile(`\bverbs: \[(.*)\]\}?$`)
	reasonLine = regexp.MustCompile(`^\s*# ([a-z]+(?:, [a-z]+)*): \S.*\.`)
)

// TestEveryVerbHasAReason reads the rendered rules as text: above each stands a comment for each verb, and none for another.
func TestEveryVerbHasAReason(t *testing.T) {
	for _, folder := range valuesCases(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			rules := checkReasons(t, render(t, "--values", folder+"/values.yaml"))
			if rules == 0 {
				t.Error("no rules rendered")
			}
		})
	}
}

// checkReasons returns how many rules there are in text.
func checkReasons(t *testing.T, text string) (rules int) {
	t.Helper()
	var reasons []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := reasonLine.FindStringSubmatch(line); m != nil {
			reasons = append(reasons, strings.Split(m[1], ", ")...)
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
	return rules
}

// TestGrants lists what each account may do through the roles that it is bound to, by kind of role. A new right is a decision, made in the golden file.
func TestGrants(t *testing.T) {
	got := map[string]map[string]map[string][]string{}
	for _, folder := range valuesCases(t) {
		objects := decode(t, render(t, "--values", folder+"/values.yaml"))
		roles := map[string]map[string][]string{}
		for _, w := range workloads(t, objects) {
			roles[w.role()] = grantsOf(objects, w.pod.Spec.ServiceAccountName)
		}
		got[filepath.Base(folder)] = roles
	}
	text, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "testdata/grants.yaml", string(text))
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
		names := []string{""}
		if len(rule.ResourceNames) > 0 {
			names = nil
		}
		for _, name := range rule.ResourceNames {
			names = append(names, "/"+name)
		}
		for _, resource := range rule.Resources {
			for _, name := range names {
				lines = append(lines, group+resource+name+" "+strings.Join(rule.Verbs, ","))
			}
		}
	}
	return lines
}

func sorted(lines []string) []string {
	slices.Sort(lines)
	return lines
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
