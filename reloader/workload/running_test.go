package workload_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// TestRunningPodOf: a pod is as old as the oldest of its containers, so that a sidecar that has restarted hides nothing; one that does not run
// has no start. Only declared TCP ports of regular containers count.
func TestRunningPodOf(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	runs := func(name string, at time.Time) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at)}}}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-a", UID: "u", CreationTimestamp: metav1.NewTime(noon), Annotations: map[string]string{workload.RefreshKey: "7"}},
		Spec: corev1.PodSpec{
			NodeName: "n", HostNetwork: true,
			InitContainers: []corev1.Container{{Name: "init", Ports: []corev1.ContainerPort{{Name: "init", ContainerPort: 1}}}},
			Containers: []corev1.Container{
				{Name: "main", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}, {Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolUDP}}},
				{Name: "side", Ports: []corev1.ContainerPort{{ContainerPort: 9090}}},
			},
		},
		Status: corev1.PodStatus{
			PodIP: "10.1.0.9", HostIP: "192.168.0.4", HostIPs: []corev1.HostIP{{IP: "192.168.0.4"}, {IP: "fd01::4"}},
			ContainerStatuses: []corev1.ContainerStatus{runs("side", noon.Add(time.Hour)), runs("main", noon.Add(time.Minute))},
		},
	}
	want := workload.RunningPod{
		Name: "web-a", UID: "u", Namespace: "shop", Address: "10.1.0.9", HostNetwork: true,
		Node: "n", NodeAddresses: []string{"192.168.0.4", "fd01::4", "192.168.0.4"}, Created: noon, Started: noon.Add(time.Minute), Refreshed: "7",
		Ports: []workload.Port{{Name: "web", Number: 8080}, {Number: 9090}},
	}
	if diff := cmp.Diff(want, workload.RunningPodOf(pod)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	if got := workload.RunningPodOf(pod).Started; !got.IsZero() {
		t.Errorf("with a container that waits the pod started at %s", got)
	}
}

// TestOwns: a pod is of the workload that controls it, whatever other selectors find it. A ReplicaSet whose name does not say whose it is leaves
// that open.
func TestOwns(t *testing.T) {
	const no, yes, open = "no", "yes", "open"
	for name, test := range map[string]struct {
		kind, ownerKind, owner, uid string
		labels                      map[string]string
		want                        string
	}{
		"of a StatefulSet":           {"StatefulSet", "StatefulSet", "web", "u", nil, yes},
		"of one of that name before": {"StatefulSet", "StatefulSet", "web", "before", nil, no},
		"of a Deployment":            {"Deployment", "ReplicaSet", "web-5d4f", "rs", map[string]string{"pod-template-hash": "5d4f"}, yes},
		"of a Deployment next to it": {"Deployment", "ReplicaSet", "web-api-5d4f", "rs", map[string]string{"pod-template-hash": "5d4f"}, no},
		"of an adopted ReplicaSet":   {"Deployment", "ReplicaSet", "handmade", "rs", map[string]string{"pod-template-hash": "5d4f"}, open},
		"with a forged hash":         {"Deployment", "ReplicaSet", "web-api-5d4f", "rs", map[string]string{"pod-template-hash": "api-5d4f"}, open},
		"of nothing":                 {"Deployment", "", "", "", map[string]string{"pod-template-hash": "5d4f"}, no},
		"of a Rollout":               {"Rollout", "ReplicaSet", "web-5d4f", "rs", map[string]string{"rollouts-pod-template-hash": "5d4f"}, yes},
		"of a DeploymentConfig":      {"DeploymentConfig", "ReplicationController", "web-3", "rc", map[string]string{"deployment": "web-3"}, yes},
	} {
		w := &workload.Workload{Kind: test.kind, ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u"}}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: test.labels}}
		if test.owner != "" {
			controls := true
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: test.ownerKind, Name: test.owner, UID: types.UID(test.uid), Controller: &controls}}
		}
		got := no
		if owns, known := w.Owns(pod); !known {
			got = open
		} else if owns {
			got = yes
		}
		if got != test.want {
			t.Errorf("a pod %s: %s, want %s", name, got, test.want)
		}
	}
}
