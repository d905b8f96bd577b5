package workload_test

import (
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// blank returns an object that Strip of a kind takes.
var blank = map[string]func() any{
	"Deployment":       func() any { return &appsv1.Deployment{} },
	"StatefulSet":      func() any { return &appsv1.StatefulSet{} },
	"DaemonSet":        func() any { return &appsv1.DaemonSet{} },
	"CronJob":          func() any { return &batchv1.CronJob{} },
	"Job":              func() any { return &batchv1.Job{} },
	"Rollout":          func() any { return &unstructured.Unstructured{} },
	"DeploymentConfig": func() any { return &unstructured.Unstructured{} },
}

// objectOf returns the object of a kind that a manifest describes, as Strip of the kind takes it.
func objectOf(t testing.TB, kind, manifest string) any {
	t.Helper()
	obj := blank[kind]()
	data, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(withKind(t, data, kind), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// stripped returns the workload of a kind that a manifest describes.
func stripped(t testing.TB, kind, manifest string) *workload.Workload {
	t.Helper()
	k, _ := workload.KindNamed(kind)
	w, err := k.Strip(objectOf(t, kind, manifest), keepAll)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// withKind adds the kind, without which no unstructured object can be decoded.
func withKind(t testing.TB, data []byte, kind string) []byte {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	fields["kind"] = kind
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPhase(t *testing.T) {
	const (
		seen    = `metadata: {generation: 4}, `
		deploy  = `status: {observedGeneration: 4, replicas: 3, updatedReplicas: 3, availableReplicas: 3`
		exceed  = `conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]`
		healthy = `status: {observedGeneration: "4", phase: Healthy}`
	)
	cases := []struct {
		kind, reason, manifest string
		want                   workload.Phase
		why                    string
	}{
		{"Deployment", "its controller has not seen the template", `{metadata: {generation: 5}, spec: {replicas: 3}, ` + deploy + `}}`, workload.Rolling, ""},
		{"Deployment", "all pods are new and serve", `{` + seen + `spec: {replicas: 3}, ` + deploy + `}}`, workload.RolledOut, ""},
		{"Deployment", "an old pod is left", `{` + seen + `spec: {replicas: 3}, status: {observedGeneration: 4, replicas: 4, updatedReplicas: 3, availableReplicas: 4}}`, workload.Rolling, ""},
		{"Deployment", "a new pod does not serve", `{` + seen + `spec: {replicas: 3}, status: {observedGeneration: 4, replicas: 3, updatedReplicas: 3, availableReplicas: 2}}`, workload.Rolling, ""},
		{"Deployment", "its controller gave up", `{` + seen + `spec: {replicas: 3}, status: {observedGeneration: 4, replicas: 4, updatedReplicas: 1, availableReplicas: 3, ` + exceed + `}}`, workload.Stalled, "its progress deadline is exceeded"},
		{
			"Deployment", "a quota leaves no room for a pod", `{` + seen + `spec: {replicas: 3}, status: {observedGeneration: 4, replicas: 3, availableReplicas: 3,
			conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: 'pods "web-2" is forbidden: exceeded quota'}, {type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]}}`,
			workload.Stalled, `its progress deadline is exceeded: FailedCreate: pods "web-2" is forbidden: exceeded quota`,
		},
		{"Deployment", "what the last template came to does not count", `{metadata: {generation: 5}, status: {observedGeneration: 4, ` + exceed + `}}`, workload.Rolling, ""},
		{"Deployment", "paused, it has the old pods", `{` + seen + `spec: {paused: true}, status: {observedGeneration: 4, replicas: 1, availableReplicas: 1}}`, workload.Waiting, "it is paused (spec.paused)"},
		{"Deployment", "nothing is there to roll", `{` + seen + `spec: {replicas: 0}, status: {observedGeneration: 4}}`, workload.Waiting, "it has no replicas, and the next pods start with the new content"},

		{"StatefulSet", "its controller counts who is ready", `{` + seen + `spec: {replicas: 3}, status: {observedGeneration: 4, replicas: 3, updatedReplicas: 3, readyReplicas: 3}}`, workload.RolledOut, ""},
		{"StatefulSet", "ready, but not for long enough", `{` + seen + `spec: {replicas: 3, minReadySeconds: 9}, status: {observedGeneration: 4, replicas: 3, updatedReplicas: 3, readyReplicas: 3}}`, workload.Rolling, ""},
		{"StatefulSet", "somebody deletes pods", `{` + seen + `spec: {replicas: 3, updateStrategy: {type: OnDelete}}, status: {observedGeneration: 4, replicas: 3, availableReplicas: 3}}`, workload.Waiting, "its pods are replaced only when they are deleted (update strategy OnDelete)"},
		{"StatefulSet", "above the partition it is at work", `{` + seen + `spec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 1}}}, status: {observedGeneration: 4, replicas: 3, updatedReplicas: 1, availableReplicas: 3}}`, workload.Rolling, ""},
		{"StatefulSet", "below the partition nothing happens", `{` + seen + `spec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 1}}}, status: {observedGeneration: 4, replicas: 3, updatedReplicas: 2, availableReplicas: 3}}`, workload.Waiting, "the pods below spec.updateStrategy.rollingUpdate.partition keep the old template"},
		{"StatefulSet", "everything is below the partition", `{` + seen + `spec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 9}}}, status: {observedGeneration: 4, replicas: 3, availableReplicas: 3}}`, workload.Waiting, "the pods below spec.updateStrategy.rollingUpdate.partition keep the old template"},

		{"DaemonSet", "every node has a new pod", `{` + seen + `status: {observedGeneration: 4, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2}}`, workload.RolledOut, ""},
		{"DaemonSet", "somebody deletes pods", `{` + seen + `spec: {updateStrategy: {type: OnDelete}}, status: {observedGeneration: 4, desiredNumberScheduled: 2, numberAvailable: 2}}`, workload.Waiting, "its pods are replaced only when they are deleted (update strategy OnDelete)"},

		{"CronJob", "nothing of it is rolled out", `{}`, "", ""},
		{"Job", "it has no pods yet", `{}`, workload.Rolling, ""},
		{"Job", "its pods run with the new content", `{status: {active: 2, ready: 2}}`, workload.RolledOut, ""},
		{"Job", "it is done", `{status: {conditions: [{type: Complete, status: "True"}]}}`, workload.RolledOut, ""},
		{"Job", "it has failed", `{status: {conditions: [{type: Failed, status: "True"}]}}`, workload.Stalled, "the Job has failed"},
		{"Job", "it waits to be resumed", `{spec: {suspend: true}}`, workload.Waiting, "it is suspended (spec.suspend)"},

		{"Rollout", "its controller has not seen the template", `{metadata: {generation: 5}, ` + healthy + `}`, workload.Rolling, ""},
		{"Rollout", "it is well", `{` + seen + healthy + `}`, workload.RolledOut, ""},
		{"Rollout", "a step waits for its promotion", `{` + seen + `status: {observedGeneration: "4", phase: Paused, message: CanaryPauseStep}}`, workload.Waiting, "it is paused between two steps"},
		{"Rollout", "its message may quote the spec", `{` + seen + `status: {observedGeneration: "4", phase: Degraded, message: hunter2}}`, workload.Stalled, "it is degraded"},
		{"Rollout", "nothing is there to roll", `{` + seen + `spec: {replicas: 0}, ` + healthy + `}`, workload.Waiting, "it has no replicas, and the next pods start with the new content"},
		{"Rollout", "whatever its status is, it is a workload", `{` + seen + `status: [7]}`, workload.Rolling, ""},
		{"Rollout", "a number instead of text", `{` + seen + `status: {observedGeneration: 4, phase: Healthy}}`, workload.RolledOut, ""},

		{"DeploymentConfig", "its controller gave up", `{` + seen + `spec: {replicas: 3}, status: {observedGeneration: 4, ` + exceed + `}}`, workload.Stalled, "its rollout has failed: ProgressDeadlineExceeded"},
		{"DeploymentConfig", "it is paused", `{` + seen + `spec: {replicas: 3, paused: true}, status: {observedGeneration: 4, replicas: 3}}`, workload.Waiting, "it is paused (spec.paused)"},
		{"DeploymentConfig", "somebody starts its rollouts", `{` + seen + `spec: {replicas: 3, triggers: [{type: ImageChange}]}, status: {observedGeneration: 4, replicas: 3}}`, workload.Waiting, "it has no trigger of type ConfigChange, and the rollout must be started by hand"},
		{"DeploymentConfig", "changes start its rollouts", `{` + seen + `spec: {replicas: 3, triggers: [{type: ImageChange}, {type: ConfigChange}]}, status: {observedGeneration: 4, replicas: 3}}`, workload.Rolling, ""},
	}
	covered := map[string]bool{}
	for _, c := range cases {
		covered[c.kind] = true
		t.Run(c.kind+" "+c.reason, func(t *testing.T) {
			if p := stripped(t, c.kind, c.manifest).Progress; p.Phase != c.want || p.Why != c.why {
				t.Errorf("%s, %q; want %s, %q", p.Phase, p.Why, c.want, c.why)
			}
		})
	}
	for _, kind := range workload.Kinds {
		if !covered[kind.Kind] {
			t.Errorf("no case for %s", kind.Kind)
		}
	}
}

func TestAlike(t *testing.T) {
	base := func() *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Name: "web", UID: "u", Generation: 2, ResourceVersion: "7", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", Time: at(5)}, {Manager: "controller", Subresource: "status", Time: at(8)}},
		}}
	}
	cases := map[string]struct {
		edit func(*appsv1.Deployment)
		want bool
	}{
		"nothing":         {func(*appsv1.Deployment) {}, true},
		"its version":     {func(d *appsv1.Deployment) { d.ResourceVersion = "8" }, true},
		"its status":      {func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 3 }, true},
		"who counts pods": {func(d *appsv1.Deployment) { d.ManagedFields[1].Time = at(9) }, true},
		"its spec":        {func(d *appsv1.Deployment) { d.Generation = 3 }, false},
		"an annotation":   {func(d *appsv1.Deployment) { d.Annotations["c"] = "e" }, false},
		"a label":         {func(d *appsv1.Deployment) { d.Labels["a"] = "c" }, false},
		"another object":  {func(d *appsv1.Deployment) { d.UID = "v" }, false},
		"another writer":  {func(d *appsv1.Deployment) { d.ManagedFields[0].Time = at(6) }, false},
		"its deletion":    {func(d *appsv1.Deployment) { d.DeletionTimestamp = at(9) }, false},
	}
	strip := func(d *appsv1.Deployment) *workload.Workload {
		w, err := workload.Deployment.Strip(d, keepAll)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	for name, c := range cases {
		d := base()
		c.edit(d)
		if got := strip(base()).Alike(strip(d)); got != c.want {
			t.Errorf("%s changes: alike %t, want %t", name, got, c.want)
		}
	}
}
