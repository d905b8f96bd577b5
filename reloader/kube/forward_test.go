package kube

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestServing: of the pods of a namespace, one that is ready and whose container says where its API is.
func TestServing(t *testing.T) {
	pod := func(name, container, port string, ready corev1.ConditionStatus) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: container, Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9090}, {Name: port, ContainerPort: 8080}}}}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	pods := []corev1.Pod{
		pod("a", "nats", "api", corev1.ConditionTrue), pod("b", "reroll", "ingest", corev1.ConditionTrue),
		pod("c", "reroll", "api", corev1.ConditionFalse), pod("e", "reroll", "api", corev1.ConditionTrue), pod("d", "reroll", "api", corev1.ConditionTrue),
	}
	for n, want := range map[int]string{0: "", 2: "", 3: "c", 4: "e", 5: "d"} {
		if name, port := serving(slices.Clone(pods[:n])); name != want || want != "" && port != 8080 {
			t.Errorf("of the first %d: %q at port %d, want %q", n, name, port, want)
		}
	}
}
