package workload_test

import (
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// loose returns an object of an optional kind as the API server's answer is decoded.
func loose(t testing.TB, meta metav1.ObjectMeta, spec any) *unstructured.Unstructured {
	t.Helper()
	data, err := json.Marshal(map[string]any{"apiVersion": "any/v1", "kind": "Any", "metadata": meta, "spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestThrough(t *testing.T) {
	rollout, err := workload.Rollout.Strip(loose(t, fullMeta(), map[string]any{
		"workloadRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
	}), keepAll)
	if err != nil {
		t.Fatal(err)
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	d := &appsv1.Deployment{ObjectMeta: fullMeta(), Spec: appsv1.DeploymentSpec{Selector: selector, Template: fullTemplate()}}
	d.Generation = 4
	via, err := workload.Deployment.Strip(d, keepAll)
	if err != nil {
		t.Fatal(err)
	}
	joined := rollout.Through(via)
	if joined.Kind != "Rollout" || joined.Via != via || len(joined.Template.Containers) != 1 || joined.Selector == "" {
		t.Errorf("joined: %+v", joined)
	}
	if rollout.Via != nil || len(rollout.Template.Containers) != 0 || rollout.Selector != "" {
		t.Errorf("the Rollout itself was changed: %+v", rollout)
	}
}
