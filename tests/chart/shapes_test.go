package chart_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
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

// rendered decodes what values of testdata become.
func rendered(t *testing.T, values string, args ...string) []runtime.Object {
	t.Helper()
	return decode(t, render(t, append([]string{"--values", filepath.Join("testdata", values, "values.yaml")}, args...)...))
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
