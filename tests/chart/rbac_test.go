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

// What the service account may do in each of the values' cases.
var (
	defaultGrants = map[string][]string{
		"": {
			"apps/daemonsets get,list,watch,patch", "apps/deployments get,list,watch,patch", "apps/statefulsets get,list,watch,patch",
			"batch/cronjobs get,list,watch", "batch/jobs get,list,watch,create,delete",
			"configmaps get,list,watch", "discovery.k8s.io/endpointslices/kubernetes get", "events create", "namespaces/kube-system get",
			"pods list", "secrets get,list,watch",
		},
		namespace: {
			"configmaps get,list,watch,create,update,delete", "configmaps/reroll-canary patch",
			"secrets get,list,create,update,delete", "secrets/reroll-canary patch",
		},
	}
	// Nothing is watched here, and no Secret may be listed.
	auditGrants = map[string][]string{
		"": {
			"apps/daemonsets get,list,watch,patch", "apps/deployments get,list,watch,patch", "apps/statefulsets get,list,watch,patch",
			"batch/cronjobs get,list,watch", "batch/jobs get,list,watch,create,delete",
			"configmaps get,list", "discovery.k8s.io/endpointslices/kubernetes get", "events create", "namespaces/kube-system get",
			"pods list", "secrets get",
		},
		namespace: {
			"configmaps get,list,watch,create,update,delete", "configmaps/reroll-canary patch",
			"secrets get,list,create,update,delete", "secrets/reroll-canary patch",
		},
	}
	// Nothing is known of API servers here, and nothing is touched for their audit events.
	watchedGrants = map[string][]string{
		"": {
			"apps/daemonsets get,list,watch,patch", "apps/deployments get,list,watch,patch", "apps/statefulsets get,list,watch,patch",
			"batch/cronjobs get,list,watch", "batch/jobs get,list,watch,create,delete",
			"configmaps get,list,watch", "events create", "namespaces/kube-system get", "pods list", "secrets get,list,watch",
		},
		namespace: {
			"configmaps get,list,watch,create,update,delete",
			"secrets get,list,create,update,delete",
		},
	}
	dryRunGrants = map[string][]string{
		"": {
			"apps/daemonsets get,list,watch", "apps/deployments get,list,watch", "apps/statefulsets get,list,watch",
			"authentication.k8s.io/tokenreviews create", "authorization.k8s.io/subjectaccessreviews create",
			"batch/cronjobs get,list,watch", "batch/jobs get,list,watch",
			"configmaps get,list", "namespaces/kube-system get", "pods list", "secrets get",
		},
		namespace: {"configmaps list,watch", "secrets/reroll-digest-key get"},
	}
	// Everything is on here.
	haGrants = map[string][]string{
		"": {
			"apps.openshift.io/deploymentconfigs get,list,watch,update",
			"apps/daemonsets get,list,watch,patch", "apps/deployments get,list,watch,patch", "apps/statefulsets get,list,watch,patch",
			"argoproj.io/rollouts get,list,watch,update",
			"authentication.k8s.io/tokenreviews create", "authorization.k8s.io/subjectaccessreviews create",
			"batch/cronjobs get,list,watch", "batch/jobs get,list,watch,create,delete",
			"configmaps get,list,watch", "discovery.k8s.io/endpointslices/kubernetes get", "events create", "namespaces get", "namespaces list,watch", "pods list",
			"secrets get,list,watch",
			"secrets-store.csi.x-k8s.io/secretproviderclasses get,list", "secrets-store.csi.x-k8s.io/secretproviderclasspodstatuses list,watch",
		},
		namespace: {
			"configmaps get,list,watch,create,update,delete", "configmaps/reroll-canary patch",
			"coordination.k8s.io/leases create", "coordination.k8s.io/leases/stakater-reloader-lock get,update",
			"secrets get,list,create,update,delete", "secrets/reroll-canary patch",
		},
	}
	admissionGrants = map[string][]string{
		"": {
			"admissionregistration.k8s.io/mutatingwebhookconfigurations/example-reroll-reroll-system get,patch",
			"apps.openshift.io/deploymentconfigs get,list,watch,update",
			"apps/daemonsets get,list,watch,patch", "apps/deployments get,list,watch,patch", "apps/statefulsets get,list,watch,patch",
			"argoproj.io/rollouts get,list,watch,update", "batch/cronjobs get,list,watch", "batch/jobs get,create",
			"configmaps get,list,watch", "discovery.k8s.io/endpointslices/kubernetes get", "events create",
			"namespaces list,watch", "namespaces/kube-system get", "pods list", "secrets get,list,watch",
		},
		namespace: {
			"configmaps get,list,watch,create,update,delete", "configmaps/reroll-canary patch",
			"secrets create", "secrets create", "secrets/example-reroll-ingest-ca get,update", "secrets/example-reroll-ingest-tls get,update",
			"secrets/reroll-admission-tls get,update", "secrets/reroll-canary patch", "secrets/reroll-digest-key get",
		},
	}
	// Secrets and Jobs are left alone here, and ConfigMaps are watched.
	shopGrants = []string{
		"apps/daemonsets get,list,watch,patch", "apps/deployments get,list,watch,patch", "apps/statefulsets get,list,watch,patch",
		"batch/cronjobs get,list,watch", "batch/jobs get,create", "configmaps get,list,watch", "events create", "namespaces get", "pods list",
	}
	namespacedGrants = map[string][]string{
		"":     {"admissionregistration.k8s.io/mutatingwebhookconfigurations/example-reroll-reroll-system get,patch"},
		"shop": shopGrants, "billing": shopGrants,
		namespace: {
			"configmaps get,list,watch,create,update,delete", "configmaps/reroll-canary patch",
			"secrets create", "secrets/reroll-digest-key get",
		},
	}
)

// TestGrants lists what the service account may do, by kind of role. A new right is a decision, made here first.
func TestGrants(t *testing.T) {
	for values, want := range map[string]map[string][]string{
		"default": defaultGrants, "full": dryRunGrants, "ha": haGrants, "namespaced": namespacedGrants,
		"admission": admissionGrants, "watched": watchedGrants, "audit": auditGrants,
	} {
		t.Run(values, func(t *testing.T) {
			objects := decode(t, render(t, "--values", filepath.Join("testdata", values, "values.yaml")))
			if diff := cmp.Diff(want, grants(objects)); diff != "" {
				t.Errorf("grants by namespace (-want +got):\n%s", diff)
			}
		})
	}
}

// TestIgnoredConfigsAreNotGranted: who leaves a kind of config out grants nothing on it, whatever else is watched.
func TestIgnoredConfigsAreNotGranted(t *testing.T) {
	for _, set := range []string{"source=auto", "source=watch", "source=audit,rbac.listSecrets=true"} {
		for _, kind := range []string{"configmaps", "secrets"} {
			objects := decode(t, render(t, "--set", "config.scope.resourcesToIgnore={"+kind+"},"+set))
			for _, grant := range grants(objects)[""] {
				if strings.HasPrefix(grant, kind+" ") {
					t.Errorf("with %s the ignored %s are granted: %s", set, kind, grant)
				}
			}
		}
	}
}

// TestDeploymentConfigsAreGrantedWhereTheyAreServed renders as helm does when it can ask OpenShift's API server.
func TestDeploymentConfigsAreGrantedWhereTheyAreServed(t *testing.T) {
	objects := decode(t, render(t, "--api-versions", "apps.openshift.io/v1"))
	const want = "apps.openshift.io/deploymentconfigs get,list,watch,update"
	if got := grants(objects)[""]; !slices.Contains(got, want) {
		t.Errorf("grants %q, want %s among them", got, want)
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

// TestBindingsMeetTheirRoles checks that each binding names a rendered role of its own scope and the pod's account.
func TestBindingsMeetTheirRoles(t *testing.T) {
	for _, folder := range valuesCases(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			objects := decode(t, render(t, "--values", folder+"/values.yaml"))
			var accounts []string
			for _, w := range workloads(t, objects) {
				accounts = append(accounts, w.pod.Spec.ServiceAccountName)
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
				if len(subjects) != 1 || subjects[0].Kind != "ServiceAccount" || subjects[0].Namespace != namespace || !slices.Contains(accounts, subjects[0].Name) {
					t.Errorf("subjects of %s: %v, want one of the pods' accounts %q", key, subjects, accounts)
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
