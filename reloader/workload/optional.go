package workload

import (
	"cmp"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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
// looks like one that waits for a promotion, and may be one. The words of the controller are not repeated: they may quote the spec.
func (o *rollout) progress() Progress {
	p := Progress{
		Phase: Rolling, Observed: number(o.Status, "observedGeneration") >= o.Generation, Revision: text(o.Status, "currentPodHash"),
		Timed: true, ViaSeen: number(o.Status, "workloadObservedGeneration"),
	}
	phase := text(o.Status, "phase")
	switch {
	case !p.Observed:
	case replicas(o.Spec.Replicas) == 0:
		p.Phase, p.Why = Waiting, WhyEmpty
	case o.Spec.Paused:
		p.Phase, p.Why = Waiting, WhyPaused
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

// DeploymentConfig is the kind of OpenShift's DeploymentConfigs.
var DeploymentConfig = Kind{
	Kind:     "DeploymentConfig",
	Resource: schema.GroupVersionResource{Group: "apps.openshift.io", Version: "v1", Resource: "deploymentconfigs"},
	Optional: true,
	Roll:     InPlace,
	Strip: looseStripper("DeploymentConfig", "/spec/template", func(o *deploymentConfig) parts {
		p := parts{meta: &o.ObjectMeta, template: &corev1.PodTemplateSpec{}, progress: o.progress()}
		if o.Spec.Template != nil {
			p.template = o.Spec.Template
		}
		if len(o.Spec.Selector) > 0 {
			p.selector = &metav1.LabelSelector{MatchLabels: o.Spec.Selector}
		}
		return p
	}),
}

// deploymentConfig is what is read of a DeploymentConfig.
type deploymentConfig struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector map[string]string       `json:"selector"`
		Template *corev1.PodTemplateSpec `json:"template"`
		Replicas int32                   `json:"replicas"`
		Paused   bool                    `json:"paused"`
		Triggers []struct {
			Type string `json:"type"`
		} `json:"triggers"`
	} `json:"spec"`
	Status any `json:"status"`
}

// changeTrigger starts a rollout whenever the template has changed.
const changeTrigger = "ConfigChange"

func (o *deploymentConfig) progress() Progress {
	manual := o.Spec.Triggers != nil
	for _, t := range o.Spec.Triggers {
		manual = manual && t.Type != changeTrigger
	}
	stalled := conditionReason(o.Status, "Progressing")
	if stalled != "" {
		stalled = "its rollout has failed: " + stalled
	}
	count := func(field string) int32 { return int32(number(o.Status, field)) }
	progress := pods{
		observed: number(o.Status, "observedGeneration") >= o.Generation, wanted: o.Spec.Replicas,
		total: count("replicas"), updated: count("updatedReplicas"), available: count("availableReplicas"),
		waits:   cmp.Or(when(o.Spec.Paused, WhyPaused), when(manual, WhyManual)),
		stalled: stalled,
	}.progress()
	progress.Manual = when(manual, WhyManual)
	progress.Revision, progress.Timed = strconv.FormatInt(number(o.Status, "latestVersion"), 10), true
	return progress
}

// looseStripper returns the Strip function of an optional kind, whose objects come as *unstructured.Unstructured; *T has the fields
// of them that are read. An object that does not fit into *T, since any resource of that name may be served, is an error.
func looseStripper[T any](kind, path string, split func(*T) parts) func(any, func(string) bool) (*Workload, error) {
	strip := stripper(kind, path, split)
	return func(obj any, keep func(string) bool) (*Workload, error) {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok || u == nil {
			return strip(obj, keep)
		}
		o := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o); err != nil {
			return nil, fmt.Errorf("read %s %s/%s: %w", kind, u.GetNamespace(), u.GetName(), err)
		}
		return strip(o, keep)
	}
}

// text returns a field of an object's status that is text; empty if there is none. Whatever else is served under that name does no harm:
// a workload must not be given up for its status.
func text(status any, field string) string {
	fields, _ := status.(map[string]any)
	value, _ := fields[field].(string)
	return value
}

// number returns a field that is a whole number, or text that spells one; 0 if there is none.
func number(status any, field string) int64 {
	fields, _ := status.(map[string]any)
	switch value := fields[field].(type) {
	case int64:
		return value
	case string:
		n, err := strconv.ParseInt(value, 10, 64)
		if err == nil {
			return n
		}
	}
	return 0
}

// conditionReason returns the reason of a condition whose status is False; empty if there is none.
func conditionReason(status any, conditionType string) string {
	fields, _ := status.(map[string]any)
	conditions, _ := fields["conditions"].([]any)
	for _, c := range conditions {
		if text(c, "type") == conditionType && text(c, "status") == "False" {
			return text(c, "reason")
		}
	}
	return ""
}
