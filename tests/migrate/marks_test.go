package migrate_test

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// left is what a tool and its users have left on a workload: annotations of the workload and its pod template, a variable and finalizers.
type left struct {
	annotations, template map[string]string
	env                   corev1.EnvVar
	finalizers            []string
}

// otherMarks say what each tool but Stakater Reloader leaves on a workload that it has rolled last for cm as it is, whose data is {a: …}.
// They are restated from the sources of the tools.
var otherMarks = map[string]func(cm *corev1.ConfigMap) left{
	"sap": func(cm *corev1.ConfigMap) left {
		return left{
			annotations: map[string]string{"pod-reloader.cs.sap.com/configmaps": cm.Name},
			template: map[string]string{
				"pod-reloader.cs.sap.com/config-hash": sum256("configmap/" + cm.Namespace + "/" + cm.Name + "/" + string(cm.UID) + "." + cm.ResourceVersion + "\n"),
			},
		}
	},
	"wave": func(cm *corev1.ConfigMap) left {
		value := base64.StdEncoding.EncodeToString([]byte(cm.Data["a"]))
		return left{
			annotations: map[string]string{"wave.pusher.com/update-on-config-change": "true"},
			template:    map[string]string{"wave.pusher.com/config-hash": sum256(`{"configMaps":{"` + cm.Name + `":{"a":"` + value + `"}},"secrets":{}}`)},
		}
	},
	"collaborne": func(cm *corev1.ConfigMap) left {
		return left{
			annotations: map[string]string{"reloader.k8s.collaborne.com/configmap": cm.Name},
			env:         corev1.EnvVar{Name: "_RELOADER_CONFIGMAP_" + strings.ToUpper(cm.Name), Value: sum1("a=" + cm.Data["a"])},
		}
	},
	"fabric8": func(cm *corev1.ConfigMap) left {
		sum := sha256.Sum256([]byte("a=" + cm.Data["a"]))
		return left{
			annotations: map[string]string{"configmap.fabric8.io/update-on-change": cm.Name},
			env:         corev1.EnvVar{Name: "FABRIC8_" + strings.ToUpper(cm.Name) + "_CONFIGMAP", Value: base64.URLEncoding.EncodeToString(sum[:])},
		}
	},
	"trigger": func(cm *corev1.ConfigMap) left {
		return left{
			annotations: map[string]string{"trigger.k8s.io/triggering-configMaps": cm.Name},
			template:    map[string]string{"trigger.k8s.io/configMap-" + cm.Name + "-last-hash": sum1("a" + cm.Data["a"])},
		}
	},
	"xing": func(cm *corev1.ConfigMap) left {
		sums := fmt.Sprintf(`{"configmap/%s/%s":"%.16s"}`, cm.Namespace, cm.Name, sum256(`{"a":"`+cm.Data["a"]+`"}`))
		return left{annotations: map[string]string{
			"com.xing.deployment-restart": "enabled", "com.xing.deployment-restart.applied-config-checksums": sums,
		}, template: map[string]string{"com.xing.deployment-restart.timestamp": "2026-11-01T00:00:00Z"}}
	},
}

// otherTools are the tools that have a guide, but for Stakater Reloader.
func otherTools() []string { return slices.Sorted(maps.Keys(otherMarks)) }

func sum1(text string) string   { return fmt.Sprintf("%x", sha1.Sum([]byte(text))) }
func sum256(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// deployment returns a Deployment of that name with l on it, which takes its environment from the ConfigMap.
func (l left) deployment(name, configMap string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	container := corev1.Container{Name: "main", Image: "registry.example/none:1", EnvFrom: []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}}},
	}}
	if l.env.Name != "" {
		container.Env = []corev1.EnvVar{l.env}
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: l.annotations, Finalizers: l.finalizers},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: l.template},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
			},
		},
	}
}

// on reports whether d carries the marks of l.
func (l left) on(d *appsv1.Deployment) bool {
	has := func(all, some map[string]string) bool {
		for key, value := range some {
			if all[key] != value && !strings.HasSuffix(key, "timestamp") {
				return false
			}
		}
		return true
	}
	env := l.env.Name == "" || slices.Contains(d.Spec.Template.Spec.Containers[0].Env, l.env)
	return env && has(d.Annotations, l.annotations) && has(d.Spec.Template.Annotations, l.template)
}
