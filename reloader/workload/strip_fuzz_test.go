package workload_test

import (
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/reroll-dev/reroll/reloader/workload"
)

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
