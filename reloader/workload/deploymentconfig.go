package workload

import (
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
		p := parts{meta: &o.ObjectMeta, template: &corev1.PodTemplateSpec{}}
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
	} `json:"spec"`
}
