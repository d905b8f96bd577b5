package torment

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
)

// workload is one object of the tenant.
type workload struct {
	kind   string
	object metav1.Object
}

// wideConfigs is the number of ConfigMaps that the trick many-wide uses, and wideKeys how many keys each of them has.
const wideConfigs, wideKeys = 40, 2000

// holdingTricks are those that cost a worker time, or the records space.
func holdingTricks() []trick {
	return []trick{
		{"template-references", 1, templateReferences},
		{"template-huge", 1, templateHuge},
		{"annotations-full", 1, annotationsFull},
		{"config-wide", 1, usesAll("wide")},
		{"configs-wide", 1, manyWide},
		{"hanging-deployment", 7, usesAll(stir)},
		{"hanging-statefulset", 1, hangingStatefulSet},
		{"hanging-job", 3, job(false)},
		{"stuck-job", 7, job(true)},
		{"hanging-cronjob", 2, hangingCronJob},
	}
}

// hangingDeployment returns a Deployment of which the silent webhook is asked.
func hangingDeployment(p place, from ...corev1.EnvFromSource) *appsv1.Deployment {
	d := line.Deployment(p.namespace, p.name, line.Auto, from...)
	d.Labels = map[string]string{hangs: "true"}
	return d
}

func usesAll(configs ...string) func(options, place) workload {
	return func(_ options, p place) workload {
		var from []corev1.EnvFromSource
		for _, name := range configs {
			from = append(from, line.FromConfigMap(name))
		}
		return workload{"Deployment", hangingDeployment(p, from...)}
	}
}

func manyWide(o options, p place) workload {
	var configs []string
	for i := range wideConfigs {
		configs = append(configs, fmt.Sprintf("wide-%d", i))
	}
	return usesAll(configs...)(o, p)
}

// templateReferences is a Deployment whose template refers to a key of every ConfigMap of the crowd.
func templateReferences(o options, p place) workload {
	d := hangingDeployment(p, line.FromConfigMap(stir))
	optional := true
	for i := range max(o.Crowd, 3000) {
		d.Spec.Template.Spec.Containers[0].Env = append(d.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{
			Name: fmt.Sprintf("V%d", i), ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: crowdName(i)}, Key: "k", Optional: &optional,
			}},
		})
	}
	return workload{"Deployment", d}
}

// templateHuge is a Deployment whose template has 1 MiB.
func templateHuge(_ options, p place) workload {
	d := hangingDeployment(p, line.FromConfigMap(stir))
	d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "V", Value: strings.Repeat("x", 1<<20)}}
	return workload{"Deployment", d}
}

// maxAnnotations is what Kubernetes lets all annotations of an object have together.
const maxAnnotations = 256 << 10

// annotationsFull is a Deployment without room for one more annotation, which every roll adds.
func annotationsFull(_ options, p place) workload {
	annotations := map[string]string{"reloader.stakater.com/auto": "true", "example.com/full": ""}
	used := 0
	for k, v := range annotations {
		used += len(k) + len(v)
	}
	annotations["example.com/full"] = strings.Repeat("x", maxAnnotations-used)
	return workload{"Deployment", line.Deployment(p.namespace, p.name, annotations, line.FromConfigMap(stir))}
}

func hangingStatefulSet(_ options, p place) workload {
	d := hangingDeployment(p, line.FromConfigMap(stir))
	return workload{"StatefulSet", &appsv1.StatefulSet{
		ObjectMeta: d.ObjectMeta, Spec: appsv1.StatefulSetSpec{Selector: d.Spec.Selector, Template: d.Spec.Template, ServiceName: p.name},
	}}
}

func jobTemplate(p place) corev1.PodTemplateSpec {
	template := line.Deployment(p.namespace, p.name, nil, line.FromConfigMap(stir)).Spec.Template
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return template
}

// job is a Job that can be created again only when it is gone. Stuck, a finalizer keeps it; otherwise the request to delete it hangs.
func job(stuck bool) func(options, place) workload {
	return func(_ options, p place) workload {
		j := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: p.name, Namespace: p.namespace, Annotations: line.Auto},
			Spec:       batchv1.JobSpec{Template: jobTemplate(p)},
		}
		if stuck {
			j.Finalizers = []string{"example.com/never"}
		} else {
			j.Labels = map[string]string{hangs: "true"}
		}
		return workload{"Job", j}
	}
}

// hangingCronJob is a CronJob of which the request to create a Job hangs.
func hangingCronJob(_ options, p place) workload {
	return workload{"CronJob", &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: p.name, Namespace: p.namespace, Annotations: line.Auto},
		Spec: batchv1.CronJobSpec{
			Schedule: "0 3 * * *", JobTemplate: batchv1.JobTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{hangs: "true"}}, Spec: batchv1.JobSpec{Template: jobTemplate(p)},
			},
		},
	}}
}
