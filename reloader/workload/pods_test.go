package workload_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		"running":    {"what an init container made of its configs is in use", pod(ended, running), workload.Pod{Current: true, Containers: starts(noon, noon)}},
		"sidecar":    {"a sidecar is an init container that goes on", pod(running, running), workload.Pod{Current: true, Containers: starts(noon, noon)}},
		"starting":   {"the containers read their configs later", pod(running, waiting), workload.Pod{Current: true, Stuck: "container main: CrashLoopBackOff", Containers: starts(noon, never)}},
		"restarting": {"what the container had read it reads again", pod(ended, ended), workload.Pod{Current: true, Containers: starts(noon, never)}},
		"new":        {"the kubelet has not seen it", pod(corev1.ContainerState{}, corev1.ContainerState{}), workload.Pod{Current: true, Containers: starts(never, never)}},
		"going":      {"it may run for a while", going, workload.Pod{Current: true, Going: true, Containers: starts(noon, noon)}},
		"failed":     {"nothing of it runs", failed, workload.Pod{Current: true, Ended: true, Containers: starts(noon, never)}},
		"succeeded":  {"nothing of it runs", succeeded, workload.Pod{Current: true, Ended: true, Containers: starts(noon, never)}},
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
