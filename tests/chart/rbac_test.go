package chart_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/line"
)

// sets are values besides those of testdata. They decide about rights on pods.
var sets = []string{
	"config.hotReload.enabled=true", "config.hotReload.exec=true", "config.hotReload.enabled=true,config.hotReload.exec=true",
	"dryRun=true,config.hotReload.enabled=true,config.hotReload.exec=true",
}

// summary is what some values come to: how many pods have a part of Reroll and what these may do, by kind of role, and the groups of alerts, since one about
// what does not run would fire for ever, or never.
type summary struct {
	Parts  map[string]part
	Alerts []string
}

type part struct {
	Replicas int32
	Grants   map[string][]string
}

// TestSummary: a new right, or another shape, is a decision, made in the golden file.
func TestSummary(t *testing.T) {
	got := map[string]summary{}
	add := func(name string, args ...string) {
		objects := decode(t, render(t, args...))
		s := summary{map[string]part{}, alertGroups(t, objects)}
		for _, w := range workloads(t, objects) {
			s.Parts[w.role()] = part{w.replicas, grantsOf(objects, w.pod.Spec.ServiceAccountName)}
		}
		got[name] = s
	}
	for _, folder := range valuesCases(t) {
		add(filepath.Base(folder), "--values", folder+"/values.yaml")
	}
	for _, set := range sets {
		add(set, "--set", set)
	}
	text, err := yaml.Marshal(got)
	line.Must(t, err)
	compareGolden(t, "testdata/summary.yaml", string(text))
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
