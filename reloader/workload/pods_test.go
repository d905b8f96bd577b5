package workload_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader/workload"
)

func TestPodOf(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon)}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(noon)}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	pod := func(init, main corev1.ContainerState) *corev1.Pod {
		p := &corev1.Pod{}
		p.Spec.InitContainers, p.Spec.Containers = []corev1.Container{{Name: "init"}}, []corev1.Container{{Name: "main"}, {Name: "late"}}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", State: init}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: main}}
		return p
	}
	starts := func(init, main time.Time) []workload.Start {
		return []workload.Start{{Name: "init", At: init, Init: true}, {Name: "main", At: main}, {Name: "late"}}
	}
	going, failed, succeeded := pod(ended, running), pod(ended, ended), pod(ended, ended)
	going.DeletionTimestamp = &metav1.Time{Time: noon}
	failed.Status.Phase, succeeded.Status.Phase = corev1.PodFailed, corev1.PodSucceeded
	never := time.Time{}
	for name, test := range map[string]struct {
		reason string
		pod    *corev1.Pod
		want   workload.Pod
	}{
		"running":   {"what an init container made of its configs is in use", pod(ended, running), workload.Pod{Current: true, Containers: starts(noon, noon)}},
		"sidecar":   {"a sidecar is an init container that goes on", pod(running, running), workload.Pod{Current: true, Containers: starts(noon, noon)}},
		"starting":  {"the containers read their configs later", pod(running, waiting), workload.Pod{Current: true, Stuck: "container main: CrashLoopBackOff", Containers: starts(noon, never)}},
		"new":       {"the kubelet has not seen it", pod(corev1.ContainerState{}, corev1.ContainerState{}), workload.Pod{Current: true, Containers: starts(never, never)}},
		"going":     {"it may run for a while", going, workload.Pod{Current: true, Going: true, Containers: starts(noon, noon)}},
		"failed":    {"nothing of it runs", failed, workload.Pod{Current: true, Ended: true, Containers: starts(noon, never)}},
		"succeeded": {"nothing of it runs", succeeded, workload.Pod{Current: true, Ended: true, Containers: starts(noon, never)}},
	} {
		w := &workload.Workload{Kind: "Deployment"}
		if diff := cmp.Diff(test.want, w.PodOf(test.pod)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, test.reason, diff)
		}
	}
}

// TestStuck: the cause of a stall is that of the first pod of the newest template that says one, whatever it is about.
func TestStuck(t *testing.T) {
	w := &workload.Workload{Kind: "Deployment"}
	w.Template.Annotations = map[string]string{workload.HashKey: "2"}
	pod := func(name, hash string, status corev1.PodStatus) workload.Pod {
		p := &corev1.Pod{Status: status}
		p.Name, p.Annotations = name, map[string]string{workload.HashKey: hash}
		return w.PodOf(p)
	}
	waits := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}},
		}}
	}
	nowhere := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available"}}}
	for want, pods := range map[string][]workload.Pod{
		`pod web-b: container main: ImagePullBackOff: Back-off pulling image "x"`: {
			pod("web-a", "2", waits("ContainerCreating", "")), pod("web-b", "2", waits("ImagePullBackOff", `Back-off pulling image "x"`)), pod("web-c", "2", nowhere),
		},
		"pod web-c: Unschedulable: 0/1 nodes are available": {pod("web-b", "1", waits("ImagePullBackOff", "of before")), pod("web-c", "2", nowhere)},
		"": {pod("web-a", "2", waits("PodInitializing", "")), pod("web-b", "1", waits("ErrImagePull", ""))},
	} {
		if got := (workload.Pods{Of: pods}).Stuck(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if long := pod("web-a", "2", waits("ErrImagePull", strings.Repeat("x", 1000))); len(long.Stuck) > 300 {
		t.Errorf("%d bytes of a message are taken", len(long.Stuck))
	}
}

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
			PodIP: "10.1.0.9", HostIP: "192.168.0.4", HostIPs: []corev1.HostIP{{IP: "::ffff:192.168.0.4"}, {IP: "fd01::4"}, {IP: "none"}},
			ContainerStatuses: []corev1.ContainerStatus{runs("side", noon.Add(time.Hour)), runs("main", noon.Add(time.Minute))},
		},
	}
	v4, v6 := netip.MustParseAddr("192.168.0.4"), netip.MustParseAddr("fd01::4")
	want := workload.RunningPod{
		Name: "web-a", UID: "u", Namespace: "shop", Address: "10.1.0.9", HostNetwork: true,
		Node: "n", NodeAddresses: []netip.Addr{v4, v6, v4}, Created: noon, Started: noon.Add(time.Minute), Refreshed: "7",
		Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}, {ContainerPort: 9090}},
	}
	if diff := cmp.Diff(want, workload.RunningPodOf(pod), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
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
