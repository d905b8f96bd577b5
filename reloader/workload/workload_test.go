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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

var _ metav1.Object = (*workload.Workload)(nil)

func keepAll(string) bool { return true }

func at(second int64) *metav1.Time { return &metav1.Time{Time: time.Unix(second, 0)} }

// fullMeta is the metadata of an object, and fullTemplate its pod template.
const (
	fullMeta = `metadata: {name: app, namespace: ns, uid: u1, generation: 3, resourceVersion: "77", creationTimestamp: "1970-01-01T00:00:01Z",
		deletionTimestamp: "1970-01-01T00:00:09Z", labels: {team: a}, annotations: {wanted: "1", other: "2", kubectl.kubernetes.io/last-applied-configuration: "{}"},
		managedFields: [{manager: kubectl, time: "1970-01-01T00:00:05Z"}, {manager: helm, time: "1970-01-01T00:00:04Z"},
		{manager: controller, subresource: status, time: "1970-01-01T00:00:08Z"}, {manager: timeless}]}`
	fullTemplate = `template: {metadata: {annotations: {other: "2"}}, spec: {containers: [{name: main, image: image, command: [run],
		env: [{name: A, value: plain}, {name: STAKATER_X_SECRET, value: abc123}, {name: STAKATER_Y_SECRET, value: "hunter2!"}]}]}}`
)

func TestStripEveryKind(t *testing.T) {
	const path, app = "/spec/template", `selector: {matchLabels: {app: a}}, ` + fullTemplate
	cases := map[string]struct {
		resource, spec, path, selector string
		roll                           workload.Roll
		optional                       bool
	}{
		"Deployment":       {"apps/v1/deployments", app, path, "app=a", workload.InPlace, false},
		"StatefulSet":      {"apps/v1/statefulsets", app, path, "app=a", workload.InPlace, false},
		"DaemonSet":        {"apps/v1/daemonsets", app, path, "app=a", workload.InPlace, false},
		"Job":              {"batch/v1/jobs", app, path, "app=a", workload.Recreate, false},
		"CronJob":          {"batch/v1/cronjobs", `jobTemplate: {spec: {` + fullTemplate + `}}`, "/spec/jobTemplate/spec/template", "", workload.NewJob, false},
		"Rollout":          {"argoproj.io/v1alpha1/rollouts", `replicas: 2, ` + app, path, "app=a", workload.InPlace, true},
		"DeploymentConfig": {"apps.openshift.io/v1/deploymentconfigs", `replicas: 2, selector: {app: a}, ` + fullTemplate, path, "app=a", workload.InPlace, true},
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
			obj := objectOf(t, name, "{"+fullMeta+", spec: {"+c.spec+"}}")
			before, _ := json.Marshal(obj)
			got, err := kind.Strip(obj, func(key string) bool { return key == "wanted" })
			if err != nil {
				t.Fatal(err)
			}
			want := fullWorkload(name, c.path, c.selector)
			want.Progress = unbegun[name]
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("stripped (-want +got):\n%s", diff)
			}
			if after, _ := json.Marshal(obj); string(after) != string(before) {
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

func TestThrough(t *testing.T) {
	rollout := stripped(t, "Rollout", "{"+fullMeta+", spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}")
	via := stripped(t, "Deployment", "{"+fullMeta+", spec: {selector: {matchLabels: {app: a}}, "+fullTemplate+"}}")
	via.LastWritten = rollout.LastWritten.Add(time.Hour)
	joined := rollout.Through(via)
	if joined.Kind != "Rollout" || !joined.LastWritten.Equal(via.LastWritten) || joined.Via != via || len(joined.Template.Containers) != 1 || joined.Selector == "" {
		t.Errorf("joined: %+v", joined)
	}
	if rollout.Via != nil || len(rollout.Template.Containers) != 0 || rollout.Selector != "" {
		t.Errorf("the Rollout itself was changed: %+v", rollout)
	}
}

// FuzzStrip takes anything for an object of any kind. Stripping it ends without a panic and keeps no variable's value but hex.
func FuzzStrip(f *testing.F) {
	const template = `"template":{"spec":{"containers":[{"name":"c","env":[{"name":"STAKATER_A_SECRET","value":"0a"},{"name":"STAKATER_B_SECRET","value":"hunter2"}]}]}}`
	for _, seed := range []string{
		`{"metadata":{"name":"a","managedFields":[{"manager":"Reloader","time":"2026-11-21T12:00:00Z","fieldsV1":{"f:spec":{"k:{\"name\":\"STAKATER_A_SECRET\"}":{}}}}]},"spec":{` + template + `}}`,
		`{"metadata":{"name":"a","managedFields":[{"manager":"Reloader","time":null,"fieldsV1":"x"},null]},"spec":{` + template + `}}`,
		`{"spec":{"jobTemplate":{"spec":{` + template + `}}}}`,
		`{"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"In"}]},"template":{"metadata":{"annotations":{"a":""}},"spec":{"containers":[{}]}}}}`,
		`{"kind":"Rollout","metadata":{"name":"a","generation":1.5},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"spec":{"containers":[{"name":"c","env":[{"name":"STAKATER_A_SECRET","value":"hunter2"}]}]}}}}`,
		`{"kind":"Rollout","spec":{"workloadRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}}`,
		`{"kind":"DeploymentConfig","spec":{"selector":{"a":"b"},"template":null}}`,
		`{"kind":"x","metadata":7,"spec":[]}`,
		`{"kind":"x","metadata":{"managedFields":[{"time":"never"}],"annotations":{"a":1}},"spec":{"template":{"spec":{"volumes":[{"name":"v","projected":{"sources":[null]}}]}}}}`,
		`{"kind":"x","spec":{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"lots"}},"livenessProbe":{"httpGet":{"port":{}}}}]}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for kind, o := range map[*workload.Kind]metav1.Object{
			&workload.Deployment: &appsv1.Deployment{}, &workload.StatefulSet: &appsv1.StatefulSet{}, &workload.DaemonSet: &appsv1.DaemonSet{},
			&workload.CronJob: &batchv1.CronJob{}, &workload.Job: &batchv1.Job{}, &workload.Rollout: &unstructured.Unstructured{}, &workload.DeploymentConfig: &unstructured.Unstructured{},
		} {
			if json.Unmarshal(data, o) != nil {
				continue
			}
			w, err := kind.Strip(o, keepAll)
			if (w == nil) == (err == nil) {
				t.Fatalf("%s: %v, %v", kind.Kind, w, err)
			}
			if err != nil {
				continue
			}
			for _, c := range w.Template.Containers {
				for _, m := range c.Marks {
					if m.Value != workload.MarkValue(m.Value) {
						t.Errorf("%s keeps the value %q", kind.Kind, m.Value)
					}
				}
			}
		}
	})
}
