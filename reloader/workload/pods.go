package workload

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// HashKey is the pod template annotation that each roll changes.
const HashKey = "reroll.dev/config-hash"

// Pods are the pods of one workload, as evidence of what runs.
type Pods struct {
	// Known reports whether Of has all of them. It is false if the workload does not say which pods are its own, or has too many.
	Known bool
	Of    []Pod
}

// Pod is one pod of a workload.
type Pod struct {
	Name string
	// Stuck says why the pod does not start, in the words of the scheduler or the kubelet; empty if it does, or if they do not say yet.
	Stuck string
	// Current reports whether the pod may be of the newest template. It is false only if the pod proves to be of another one.
	Current bool
	// Going reports whether the pod is being deleted, and Ended whether it has failed or succeeded.
	Going, Ended bool
	// Containers are the init containers and the regular ones, in the order of the pod's spec.
	Containers []Start
}

// Start is when a container of a pod started, in whole seconds, rounded down.
type Start struct {
	Name string
	// At is the start of a container that runs, or of an init container that has ended: what it made of its configs is still in use. It is
	// zero if nothing of the container is in use: it reads its configs when it starts the next time.
	At time.Time
	// Init reports whether this is an init container.
	Init bool
}

// PodOf returns what pod says as one of w.
func (w *Workload) PodOf(pod *corev1.Pod) Pod {
	p := Pod{
		Name: pod.Name, Stuck: stuck(pod), Current: w.current(pod), Going: pod.DeletionTimestamp != nil,
		Ended: pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded,
	}
	for i := range pod.Spec.InitContainers {
		p.Containers = append(p.Containers, startOf(pod.Spec.InitContainers[i].Name, pod.Status.InitContainerStatuses, true))
	}
	for i := range pod.Spec.Containers {
		p.Containers = append(p.Containers, startOf(pod.Spec.Containers[i].Name, pod.Status.ContainerStatuses, false))
	}
	return p
}

// beginning are the reasons of containers that wait because their pod has just begun.
var beginning = []string{"ContainerCreating", "PodInitializing"}

// maxStuck bounds what is taken of a message of the scheduler or the kubelet.
const maxStuck = 256

// stuck says why pod does not start.
func stuck(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return says(c.Reason, c.Message)
		}
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if waiting := s.State.Waiting; waiting != nil && waiting.Reason != "" && !slices.Contains(beginning, waiting.Reason) {
			return "container " + s.Name + ": " + says(waiting.Reason, waiting.Message)
		}
	}
	return ""
}

func says(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ": " + strings.ToValidUTF8(message[:min(len(message), maxStuck)], "")
}

// Stuck says why the first pod of the newest template that does not start does not; empty if that is not known.
func (p Pods) Stuck() string {
	for _, pod := range p.Of {
		if pod.Current && pod.Stuck != "" && !pod.Going && !pod.Ended {
			return "pod " + pod.Name + ": " + pod.Stuck
		}
	}
	return ""
}

func startOf(name string, statuses []corev1.ContainerStatus, init bool) Start {
	s := Start{Name: name, Init: init}
	i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == name })
	if i < 0 {
		return s
	}
	switch state := statuses[i].State; {
	case state.Running != nil:
		s.At = state.Running.StartedAt.Time
	case state.Terminated != nil && init:
		s.At = state.Terminated.StartedAt.Time
	}
	return s
}

// revisionLabels are the labels of pods that name their template.
var revisionLabels = map[string]string{
	"StatefulSet": appsv1.ControllerRevisionHashLabelKey, "Rollout": "rollouts-pod-template-hash", "DeploymentConfig": "deployment",
}

// current reports whether pod may be of the newest template of w. The pod has a copy of the template's annotations, and perhaps the revision
// that the status of w names. The pods of a Deployment or DaemonSet have a revision, too, but these objects do not name the newest.
func (w *Workload) current(pod *corev1.Pod) bool {
	if pod.Annotations[HashKey] != w.Template.Annotations[HashKey] {
		return false
	}
	newest := w.Progress.Revision
	if w.Kind == DeploymentConfig.Kind {
		newest = w.Name + "-" + newest
	}
	revision := pod.Labels[revisionLabels[w.Kind]]
	return revision == "" || !w.Progress.Observed || w.Progress.Revision == "" || revision == newest
}
