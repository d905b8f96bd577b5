package chart_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestPodsOfOneRole: what a role's pod has is of that role alone, and wins over what all have.
func TestPodsOfOneRole(t *testing.T) {
	args := []string{
		"--set", "nodeSelector.pool=system,priorityClassName=high,serviceAccount.annotations.for=all",
		"--set", "dispatch.pod.nodeSelector.pool=control,dispatch.pod.tolerations[0].operator=Exists",
		"--set", "dispatch.pod.serviceAccount.name=roller,dispatch.pod.serviceAccount.annotations.for=dispatch",
	}
	pods, accounts := 0, map[string]string{}
	for _, o := range rendered(t, "roles", args...) {
		switch o := o.(type) {
		case *appsv1.Deployment:
			pods++
			pool, tolerations, account := "system", 0, o.Name
			if o.Name == release+"-reroll-dispatch" || o.Name == release+"-dispatch" {
				pool, tolerations, account = "control", 1, "roller"
			}
			pod := o.Spec.Template.Spec
			if pod.NodeSelector["pool"] != pool || len(pod.Tolerations) != tolerations || pod.PriorityClassName != "high" || pod.ServiceAccountName != account {
				t.Errorf("%s runs on %v with %v and %s as %s", o.Name, pod.NodeSelector, pod.Tolerations, pod.PriorityClassName, pod.ServiceAccountName)
			}
		case *corev1.ServiceAccount:
			accounts[o.Name] = o.Annotations["for"]
		}
	}
	if pods != 4 || len(accounts) != 4 || accounts["roller"] != "dispatch" {
		t.Errorf("%d Deployments, accounts %v", pods, accounts)
	}
	for account, annotation := range accounts {
		if account != "roller" && annotation != "all" {
			t.Errorf("%s is annotated %q", account, annotation)
		}
	}
	for _, o := range rendered(t, "roles", args...) {
		_, subjects, _ := binding(o)
		for _, s := range subjects {
			if _, known := accounts[s.Name]; !known {
				t.Errorf("rights are bound to %s, which no pod runs as", s.Name)
			}
		}
	}
}
