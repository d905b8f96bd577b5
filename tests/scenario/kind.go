package scenario

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Typed is an object of one of the kinds in kinds.
type Typed interface {
	metav1.Object
	runtime.Object
}

// kind is a kind of object that a scenario can have.
type kind struct {
	resource schema.GroupVersionResource
	workload bool
	make     func() Typed
}

var (
	argo      = schema.GroupVersion{Group: "argoproj.io", Version: "v1alpha1"}
	openshift = schema.GroupVersion{Group: "apps.openshift.io", Version: "v1"}
	csi       = schema.GroupVersion{Group: "secrets-store.csi.x-k8s.io", Version: "v1"}
)

// kinds has every kind that a scenario can have.
var kinds = map[string]kind{
	"ConfigMap":                    {corev1.SchemeGroupVersion.WithResource("configmaps"), false, func() Typed { return &corev1.ConfigMap{} }},
	"Secret":                       {corev1.SchemeGroupVersion.WithResource("secrets"), false, func() Typed { return &corev1.Secret{} }},
	"SecretProviderClass":          {csi.WithResource("secretproviderclasses"), false, loose},
	"SecretProviderClassPodStatus": {csi.WithResource("secretproviderclasspodstatuses"), false, loose},
	"Deployment":                   {appsv1.SchemeGroupVersion.WithResource("deployments"), true, func() Typed { return &appsv1.Deployment{} }},
	"StatefulSet":                  {appsv1.SchemeGroupVersion.WithResource("statefulsets"), true, func() Typed { return &appsv1.StatefulSet{} }},
	"DaemonSet":                    {appsv1.SchemeGroupVersion.WithResource("daemonsets"), true, func() Typed { return &appsv1.DaemonSet{} }},
	"CronJob":                      {batchv1.SchemeGroupVersion.WithResource("cronjobs"), true, func() Typed { return &batchv1.CronJob{} }},
	"Job":                          {batchv1.SchemeGroupVersion.WithResource("jobs"), true, func() Typed { return &batchv1.Job{} }},
	"Rollout":                      {argo.WithResource("rollouts"), true, loose},
	"DeploymentConfig":             {openshift.WithResource("deploymentconfigs"), true, loose},
}

func loose() Typed { return &unstructured.Unstructured{Object: map[string]any{}} }

// Resource returns where the API server serves a kind.
func Resource(name string) schema.GroupVersionResource { return kinds[name].resource }

// Template returns the pod template of a workload, a copy if it is of a kind of other vendors; nil for any other object.
func Template(obj any) *corev1.PodTemplateSpec {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	case *appsv1.DaemonSet:
		return &o.Spec.Template
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template
	case *batchv1.Job:
		return &o.Spec.Template
	case *unstructured.Unstructured:
		return looseTemplate(o)
	}
	return nil
}

func looseTemplate(o *unstructured.Unstructured) *corev1.PodTemplateSpec {
	if !kinds[o.GetKind()].workload {
		return nil
	}
	template := &corev1.PodTemplateSpec{}
	if content, found, _ := unstructured.NestedMap(o.Object, "spec", "template"); found {
		if runtime.DefaultUnstructuredConverter.FromUnstructured(content, template) != nil {
			return nil
		}
	}
	return template
}

// image is that of all containers. Nothing runs it.
const image = "registry.example/none:1"

// complete gives a workload what every workload needs and no scenario is about: a selector, a pod label, and an image for each
// container.
func complete(obj Typed) {
	labels := map[string]string{"app": obj.GetName()}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	switch o := obj.(type) {
	case *appsv1.Deployment:
		o.Spec.Selector = selector
	case *appsv1.StatefulSet:
		o.Spec.Selector, o.Spec.ServiceName = selector, o.Name
	case *appsv1.DaemonSet:
		o.Spec.Selector = selector
	case *batchv1.CronJob:
		if o.Spec.Schedule == "" {
			o.Spec.Schedule = "0 0 1 1 *"
		}
		o.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	case *batchv1.Job:
		o.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	case *unstructured.Unstructured:
		completeLoose(o)
		return
	}
	completeTemplate(Template(obj), labels)
}

func completeTemplate(template *corev1.PodTemplateSpec, labels map[string]string) {
	template.Labels = labels
	if len(template.Spec.Containers) == 0 {
		template.Spec.Containers = []corev1.Container{{Name: "main"}}
	}
	for _, list := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range list {
			list[i].Image = image
		}
	}
}

// completeLoose completes a Rollout or DeploymentConfig, unless its template is another object's.
func completeLoose(o *unstructured.Unstructured) {
	if _, elsewhere, _ := unstructured.NestedMap(o.Object, "spec", "workloadRef"); elsewhere {
		return
	}
	template := looseTemplate(o)
	completeTemplate(template, map[string]string{"app": o.GetName()})
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(template)
	if err != nil {
		return
	}
	labels := map[string]any{"app": o.GetName()}
	selector := map[string]any{"matchLabels": labels}
	if o.GetKind() == "DeploymentConfig" {
		selector = labels
	}
	_ = unstructured.SetNestedMap(o.Object, content, "spec", "template")
	_ = unstructured.SetNestedMap(o.Object, selector, "spec", "selector")
}
