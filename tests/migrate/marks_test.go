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

// given is what a workload uses: a ConfigMap and a Secret of one name, with the data {a: …} and {s: …}.
type given struct {
	cm     *corev1.ConfigMap
	secret *corev1.Secret
}

// left is what a tool and its users have left on a workload: annotations of the workload and its pod template, variables and finalizers.
type left struct {
	annotations, template map[string]string
	env                   []corev1.EnvVar
	finalizers            []string
	// secret says that the tool knows Secrets, so that the workload uses that of its name as well.
	secret bool
}

// otherMarks say what each tool but Stakater Reloader leaves on a workload that it has rolled last for what is given as it is. They are restated
// from the sources of the tools.
var otherMarks = map[string]func(g given) left{
	"sap": func(g given) left {
		version := func(kind string, o metav1.Object) string {
			return fmt.Sprintf("%s/%s/%s/%s.%s\n", kind, o.GetNamespace(), o.GetName(), o.GetUID(), o.GetResourceVersion())
		}
		return left{
			annotations: map[string]string{"pod-reloader.cs.sap.com/configmaps": g.cm.Name, "pod-reloader.cs.sap.com/secrets": g.secret.Name},
			template:    map[string]string{sapHash: sum256(version("configmap", g.cm) + version("secret", g.secret))},
			secret:      true,
		}
	},
	"wave": func(g given) left {
		return left{
			annotations: map[string]string{"wave.pusher.com/update-on-config-change": "true"},
			template: map[string]string{"wave.pusher.com/config-hash": sum256(
				`{"configMaps":{"` + g.cm.Name + `":{"a":"` + base64of(g.cm.Data["a"]) + `"}},"secrets":{"` + g.secret.Name + `":{"s":"` + base64of(g.word()) + `"}}}`)},
			secret: true,
		}
	},
	"collaborne": func(g given) left {
		return left{
			annotations: map[string]string{"reloader.k8s.collaborne.com/configmap": g.cm.Name, "reloader.k8s.collaborne.com/secret": g.secret.Name},
			env: []corev1.EnvVar{
				{Name: "_RELOADER_CONFIGMAP_" + strings.ToUpper(g.cm.Name), Value: sum1("a=" + g.cm.Data["a"])},
				{Name: "_RELOADER_SECRET_" + strings.ToUpper(g.secret.Name), Value: sum1("s=" + base64of(g.word()))},
			},
			secret: true,
		}
	},
	"fabric8": func(g given) left {
		sum := sha256.Sum256([]byte("a=" + g.cm.Data["a"]))
		return left{
			annotations: map[string]string{"configmap.fabric8.io/update-on-change": g.cm.Name},
			env:         []corev1.EnvVar{{Name: "FABRIC8_" + strings.ToUpper(g.cm.Name) + "_CONFIGMAP", Value: base64.URLEncoding.EncodeToString(sum[:])}},
		}
	},
	"trigger": func(g given) left {
		return left{
			annotations: map[string]string{"trigger.k8s.io/triggering-configMaps": g.cm.Name, "trigger.k8s.io/triggering-secrets": g.secret.Name},
			template: map[string]string{
				"trigger.k8s.io/configMap-" + g.cm.Name + "-last-hash":  sum1("a" + g.cm.Data["a"]),
				"trigger.k8s.io/secret-" + g.secret.Name + "-last-hash": sum1("s" + g.word()),
			},
			secret: true,
		}
	},
}

// sapHash is the mark of SAP's pod-reloader.
const sapHash = "pod-reloader.cs.sap.com/config-hash"

// word is what the Secret holds.
func (g given) word() string { return string(g.secret.Data["s"]) }

func base64of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// otherTools are the tools that have a guide, but for Stakater Reloader.
func otherTools() []string { return slices.Sorted(maps.Keys(otherMarks)) }

func sum1(text string) string   { return fmt.Sprintf("%x", sha1.Sum([]byte(text))) }
func sum256(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// deployment returns a Deployment of that name with l on it, which takes its environment from the ConfigMap of another, and from the Secret.
func (l left) deployment(name, config string) *appsv1.Deployment {
	labels, of := map[string]string{"app": name}, corev1.LocalObjectReference{Name: config}
	container := corev1.Container{Name: "main", Image: "registry.example/none:1", Env: l.env, EnvFrom: []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: of}},
	}}
	if l.secret {
		container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: of}})
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
	for _, v := range l.env {
		if !slices.Contains(d.Spec.Template.Spec.Containers[0].Env, v) {
			return false
		}
	}
	return has(d.Annotations, l.annotations) && has(d.Spec.Template.Annotations, l.template)
}
