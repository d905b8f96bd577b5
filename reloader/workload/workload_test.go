package workload_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

var _ metav1.Object = (*workload.Workload)(nil)

func keepAll(string) bool { return true }

func at(second int64) *metav1.Time { return &metav1.Time{Time: time.Unix(second, 0)} }

func fullMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: "app", Namespace: "ns", UID: "u1", Generation: 3, ResourceVersion: "77", CreationTimestamp: *at(1), DeletionTimestamp: at(9),
		Labels:      map[string]string{"team": "a"},
		Annotations: map[string]string{"wanted": "1", "other": "2", corev1.LastAppliedConfigAnnotation: "{}"},
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "kubectl", Time: at(5)},
			{Manager: "helm", Time: at(4)},
			{Manager: "controller", Subresource: "status", Time: at(8)},
			{Manager: "timeless"},
		},
	}
}

func fullTemplate() corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{}
	t.Annotations = map[string]string{"other": "2"}
	t.Spec.Containers = []corev1.Container{{
		Name: "main", Image: "image", Command: []string{"run"},
		Env: []corev1.EnvVar{{Name: "A", Value: "plain"}, {Name: "STAKATER_X_SECRET", Value: "abc123"}, {Name: "STAKATER_Y_SECRET", Value: "hunter2!"}},
	}}
	return t
}

func TestStripEveryKind(t *testing.T) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	const path = "/spec/template"
	cases := map[string]struct {
		obj      any
		resource string
		path     string
		selector string
		roll     workload.Roll
		optional bool
	}{
		"Deployment": {
			&appsv1.Deployment{ObjectMeta: fullMeta(), Spec: appsv1.DeploymentSpec{Selector: selector, Template: fullTemplate()}},
			"apps/v1/deployments", path, "app=a", workload.InPlace, false,
		},
		"StatefulSet": {
			&appsv1.StatefulSet{ObjectMeta: fullMeta(), Spec: appsv1.StatefulSetSpec{Selector: selector, Template: fullTemplate()}},
			"apps/v1/statefulsets", path, "app=a", workload.InPlace, false,
		},
		"DaemonSet": {
			&appsv1.DaemonSet{ObjectMeta: fullMeta(), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: fullTemplate()}},
			"apps/v1/daemonsets", path, "app=a", workload.InPlace, false,
		},
		"Job": {
			&batchv1.Job{ObjectMeta: fullMeta(), Spec: batchv1.JobSpec{Selector: selector, Template: fullTemplate()}},
			"batch/v1/jobs", path, "app=a", workload.Recreate, false,
		},
		"CronJob": {
			&batchv1.CronJob{ObjectMeta: fullMeta(), Spec: batchv1.CronJobSpec{
				JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: fullTemplate()}},
			}},
			"batch/v1/cronjobs", "/spec/jobTemplate/spec/template", "", workload.NewJob, false,
		},
		"Rollout": {
			loose(t, fullMeta(), map[string]any{"replicas": 2, "selector": selector, "template": fullTemplate()}),
			"argoproj.io/v1alpha1/rollouts", path, "app=a", workload.InPlace, true,
		},
		"DeploymentConfig": {
			loose(t, fullMeta(), map[string]any{"replicas": 2, "selector": selector.MatchLabels, "template": fullTemplate()}),
			"apps.openshift.io/v1/deploymentconfigs", path, "app=a", workload.InPlace, true,
		},
	}
	if len(cases) != len(workload.Kinds) {
		t.Errorf("%d kinds, but objects of %d", len(workload.Kinds), len(cases))
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			kind, ok := workload.KindNamed(name)
			resource := kind.Resource.GroupVersion().String() + "/" + kind.Resource.Resource
			if !ok || resource != c.resource || kind.Roll != c.roll || kind.Optional != c.optional {
				t.Fatalf("KindNamed = %+v, %v", kind, ok)
			}
			before, _ := json.Marshal(c.obj)
			got, err := kind.Strip(c.obj, func(key string) bool { return key == "wanted" })
			if err != nil {
				t.Fatal(err)
			}
			want := fullWorkload(name, c.path, c.selector)
			want.Progress = unbegun[name]
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("stripped (-want +got):\n%s", diff)
			}
			if after, _ := json.Marshal(c.obj); string(after) != string(before) {
				t.Error("Strip changed the object")
			}
			if again, err := kind.Strip(got, keepAll); err != nil || again != got {
				t.Errorf("Strip of a stripped workload = %v, %v; want itself", again, err)
			}
			if got.Ref() != (reloader.WorkloadRef{Kind: name, Namespace: "ns", Name: "app"}) || got.Roll() != c.roll {
				t.Errorf("Ref() = %s, Roll() = %s", got.Ref(), got.Roll())
			}
		})
	}
}

// unbegun is the progress of each kind when nobody has seen the object yet.
var unbegun = map[string]workload.Progress{
	"Deployment":       {Phase: workload.Rolling},
	"StatefulSet":      {Phase: workload.Rolling},
	"DaemonSet":        {Phase: workload.Rolling},
	"Job":              {Phase: workload.Rolling, Observed: true},
	"CronJob":          {},
	"Rollout":          {Phase: workload.Rolling, Timed: true},
	"DeploymentConfig": {Phase: workload.Rolling, Timed: true, Revision: "0"},
}

// fullWorkload is what is left of an object with fullMeta and fullTemplate.
func fullWorkload(kind, path, selector string) *workload.Workload {
	return &workload.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Name: "app", Namespace: "ns", UID: "u1", Generation: 3, ResourceVersion: "77", CreationTimestamp: *at(1), DeletionTimestamp: at(9),
			Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"wanted": "1"},
		},
		Kind: kind, LastWritten: time.Unix(5, 0), Selector: selector,
		Template: workload.Template{
			Path: path,
			Containers: []workload.Container{{
				Name:  "main",
				Marks: []workload.EnvMark{{Name: "STAKATER_X_SECRET", Value: "abc123"}, {Name: "STAKATER_Y_SECRET"}},
			}},
		},
	}
}

// TestMarksByName: the variables of all tools are marks, and their values are kept only if they are hashes. What kubectl last applied is never kept.
func TestMarksByName(t *testing.T) {
	base64 := strings.Repeat("A-", 21) + "A="
	d := &appsv1.Deployment{}
	d.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "secret", "a": "b"}
	d.Spec.Template.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "secret"}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Env: []corev1.EnvVar{
		{Name: workload.HashEnv, Value: "0af9"},
		{Name: "STAKATER_A_SECRET", Value: "0b"},
		{Name: "_RELOADER_A", Value: "0c"},
		{Name: "FABRIC8_A_SECRET", Value: base64},
		{Name: "STAKATER_B_SECRET", Value: base64},
		{Name: "RELOADER_A", Value: "0d"},
	}}}
	w, err := workload.Deployment.Strip(d, keepAll)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "b"}, w.Annotations); diff != "" || w.Template.Annotations != nil {
		t.Errorf("annotations of the template %v (-want +got):\n%s", w.Template.Annotations, diff)
	}
	var got []string
	for _, m := range w.Template.Containers[0].Marks {
		got = append(got, m.Name+"="+m.Value)
	}
	want := []string{"REROLL_CONFIG_HASH=0af9", "STAKATER_A_SECRET=0b", "_RELOADER_A=0c", "FABRIC8_A_SECRET=" + base64, "STAKATER_B_SECRET="}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
