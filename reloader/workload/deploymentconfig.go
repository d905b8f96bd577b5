package workload

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

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

// stalledReasons are those of the condition Progressing with which a rollout of a DeploymentConfig ends badly.
var stalledReasons = map[string]string{
	deadlineExceeded:                   whyDeadline,
	"RolloutCancelled":                 "its rollout was cancelled",
	"ReplicationControllerCreateError": "its ReplicationController cannot be created",
}

func (o *deploymentConfig) progress() Progress {
	manual := o.Spec.Triggers != nil
	for _, t := range o.Spec.Triggers {
		manual = manual && t.Type != changeTrigger
	}
	count := func(field string) int32 { return int32(number(o.Status, field)) }
	progress := pods{
		observed: number(o.Status, "observedGeneration") >= o.Generation, wanted: o.Spec.Replicas,
		total: count("replicas"), updated: count("updatedReplicas"), available: count("availableReplicas"),
		waits:   cmp.Or(when(o.Spec.Paused, whyPaused), when(manual, whyManual)),
		stalled: stalledReasons[conditionReason(o.Status, "Progressing")],
	}.progress()
	progress.Revision, progress.Timed = strconv.FormatInt(number(o.Status, "latestVersion"), 10), true
	return progress
}
