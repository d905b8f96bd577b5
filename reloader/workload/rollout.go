package workload

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/reloader"
)

// Rollout is the kind of Argo Rollouts. A Rollout has a pod template, or names the Deployment or other workload that has it.
var Rollout = Kind{
	Kind:     "Rollout",
	Resource: schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"},
	Optional: true,
	Roll:     InPlace,
	Strip: looseStripper("Rollout", "/spec/template", func(o *rollout) parts {
		return parts{
			meta: &o.ObjectMeta, selector: o.Spec.Selector, template: &o.Spec.Template,
			templateOf: o.Spec.WorkloadRef.in(o.Namespace), progress: o.progress(),
		}
	}),
}

// rollout is what is read of a Rollout.
type rollout struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector    *metav1.LabelSelector  `json:"selector"`
		Template    corev1.PodTemplateSpec `json:"template"`
		WorkloadRef *workloadRef           `json:"workloadRef"`
		Replicas    *int32                 `json:"replicas"`
		Paused      bool                   `json:"paused"`
	} `json:"spec"`
	Status any `json:"status"`
}

// progress says how far a Rollout is, in the phase that its controller sums up itself. A pause between two steps that ends by itself
// looks like one that waits for a promotion, and may be one. What the controller says about it is not repeated: it may quote the spec.
func (o *rollout) progress() Progress {
	p := Progress{
		Phase: Rolling, Observed: number(o.Status, "observedGeneration") >= o.Generation, Revision: text(o.Status, "currentPodHash"),
		Timed: true, ViaSeen: number(o.Status, "workloadObservedGeneration"),
	}
	phase := text(o.Status, "phase")
	switch {
	case !p.Observed:
	case replicas(o.Spec.Replicas) == 0:
		p.Phase, p.Why = Waiting, whyEmpty
	case o.Spec.Paused:
		p.Phase, p.Why = Waiting, whyPaused
	case phase == "Paused":
		p.Phase, p.Why = Waiting, "it is paused between two steps"
	case phase == "Healthy":
		p.Phase = RolledOut
	case phase == "Degraded":
		p.Phase, p.Why = Stalled, "it is degraded"
	}
	return p
}

// workloadRef is a Rollout's reference to the object that has its pod template.
type workloadRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// in returns what r names in a namespace. It is nil unless that is of a kind of apps/v1: the kinds whose template is the one that
// their pods run, and which every cluster serves.
func (r *workloadRef) in(namespace string) *reloader.WorkloadRef {
	if r == nil || r.Name == "" {
		return nil
	}
	for _, k := range []Kind{Deployment, StatefulSet, DaemonSet} {
		if r.Kind == k.Kind && r.APIVersion == k.Resource.GroupVersion().String() {
			return &reloader.WorkloadRef{Kind: k.Kind, Namespace: namespace, Name: r.Name}
		}
	}
	return nil
}
