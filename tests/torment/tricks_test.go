package torment

import (
	"fmt"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/tests/line"
)

// trick is a way to hurt, as one or several workloads of the tenant.
type trick struct {
	name   string
	copies int
	// makes returns the object of one workload, by its name.
	makes func(name string) object
}

// object is a workload as it is written.
type object interface {
	metav1.Object
	runtime.Object
}

// stir is the ConfigMap that most workloads of the tenant use, so that one edit of it has them all rolled.
const stir = "stir"

// The size of the run: of long lists of names, of a wide ConfigMap, and of the crowd of ConfigMaps and Secrets that globs and selectors of the tenant match.
const manyNames, wideKeys, crowd = 50_000, 13_000, 1200

// tricks returns all of them: 50 workloads.
func tricks() (all []trick) {
	for name, annotations := range annotated() {
		all = append(all, trick{name, 1, func(name string) object {
			d := hangingDeployment(name, line.FromConfigMap(stir))
			d.Annotations = annotations
			return d
		}})
	}
	return append(all, holdingTricks()...)
}

// names returns a list of so many different names of four characters: 50,000 of them take 250,000 of the 262,144 bytes that
// Kubernetes lets all annotations of an object have.
func names(n int, format string) string {
	const digits = "abcdefghijklmnopqrstuvwxyz"
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, string([]byte{digits[i%26], digits[i/26%26], digits[i/676%26], digits[i/17576%26]}))
	}
	return b.String() + stir
}

// repeated returns a list of so many items.
func repeated(n int, item string) string { return strings.Repeat(item+",", n) + stir }

// annotated are tricks by annotations alone.
func annotated() map[string]map[string]string {
	const configMaps, secrets = "configmap.reloader.stakater.com/reload", "secret.reloader.stakater.com/reload"
	const own, ownSecrets = "reroll.dev/configmaps", "reroll.dev/secrets"
	ordinaryOnes := "kube-system/x," + stir
	for i := range ordinary {
		p := placeOf(i)
		ordinaryOnes = p.namespace + "/" + p.name + "," + ordinaryOnes
	}
	unknown := map[string]string{}
	for i := range 2000 {
		unknown[fmt.Sprintf("reroll.dev/wrong-%d", i)] = "true"
	}
	lists := map[string]map[string]string{
		"names-secrets":       {secrets: names(manyNames, "%s,")},
		"names-own":           {own: names(manyNames, "%s,")},
		"glob-crowd":          {ownSecrets: "crowd-*,*-crowd"},
		"selector-all":        {"reroll.dev/configmap-selector": "!absent"},
		"globs-thousands":     {own: names(manyNames/2, "%s*,")},
		"expression-repeats":  {configMaps: "((a{1000}){1000}){1000}," + stir},
		"expressions-complex": {configMaps: repeated(200, "([-a-z0-9]{200})+y")},
		"expressions-deep":    {configMaps: repeated(50, strings.Repeat("(", 250)+"a"+strings.Repeat(")*", 200))},
		"invalid-names":       {own: repeated(manyNames/3, "Not_A_Name")},
		"other-namespaces":    {ownSecrets: ordinaryOnes},
		"other-clusters":      {"reroll.dev/follow": repeated(manyNames/10, "east/shop/configmap/a") + "/x,west/shop/secret/b"},
	}
	choices := map[string]map[string]string{
		"annotations-unknown": unknown,
		"choices-wrong": {
			"reroll.dev/window": "forever", "reroll.dev/min-interval": "-1s",
			"reroll.dev/maintenance-window": "never", "reroll.dev/strategy": strings.Repeat("x", 100_000),
		},
		"windows-thousands":      {"reroll.dev/maintenance-window": strings.Repeat("0 3 * * 1-5 2h;", manyNames/5)},
		"keys-thousands":         {"reroll.dev/keys": names(manyNames/2, "%s*,")},
		"requirements-thousands": {"reroll.dev/configmap-selector": strings.TrimSuffix(strings.Repeat("a=b,", manyNames/5), ",")},
		"exclude-thousands":      {"reroll.dev/exclude": names(manyNames/2, "%s*,")},
	}
	for name, annotations := range choices {
		maps.Copy(annotations, line.Auto)
		lists[name] = annotations
	}
	return lists
}

// wideConfigs is the number of ConfigMaps that the trick configs-wide uses, and keysEach how many keys each of them has.
const wideConfigs, keysEach = 40, 2000

// holdingTricks are those that cost a worker time, or the records space.
func holdingTricks() []trick {
	var wide []string
	for i := range wideConfigs {
		wide = append(wide, fmt.Sprintf("wide-%d", i))
	}
	return []trick{
		{"template-references", 1, templateReferences},
		{"template-huge", 1, templateHuge},
		{"annotations-full", 1, annotationsFull},
		{"config-wide", 1, usesAll("wide")},
		{"configs-wide", 1, usesAll(wide...)},
		{"hanging-deployment", 16, usesAll(stir)},
		{"hanging-job", 3, job(false)},
		{"stuck-job", 7, job(true)},
		{"hanging-cronjob", 2, hangingCronJob},
	}
}

// hangingDeployment returns a Deployment of which the silent webhook is asked.
func hangingDeployment(name string, from ...corev1.EnvFromSource) *appsv1.Deployment {
	d := line.Deployment(tenant, name, line.Auto, from...)
	d.Labels = map[string]string{hangs: "true"}
	return d
}

func usesAll(configs ...string) func(name string) object {
	return func(name string) object {
		var from []corev1.EnvFromSource
		for _, config := range configs {
			from = append(from, line.FromConfigMap(config))
		}
		return hangingDeployment(name, from...)
	}
}

// templateReferences is a Deployment whose template refers to a key of every ConfigMap of the crowd.
func templateReferences(name string) object {
	d := hangingDeployment(name, line.FromConfigMap(stir))
	optional := true
	for i := range max(crowd, 3000) {
		d.Spec.Template.Spec.Containers[0].Env = append(d.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{
			Name: fmt.Sprintf("V%d", i), ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: crowdName(i)}, Key: "k", Optional: &optional,
			}},
		})
	}
	return d
}

// templateHuge is a Deployment whose template has 1 MiB.
func templateHuge(name string) object {
	d := hangingDeployment(name, line.FromConfigMap(stir))
	d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "V", Value: strings.Repeat("x", 1<<20)}}
	return d
}

// maxAnnotations is what Kubernetes lets all annotations of an object have together.
const maxAnnotations = 256 << 10

// annotationsFull is a Deployment without room for one more annotation, which every roll adds.
func annotationsFull(name string) object {
	annotations := map[string]string{"reloader.stakater.com/auto": "true", "example.com/full": ""}
	used := 0
	for k, v := range annotations {
		used += len(k) + len(v)
	}
	annotations["example.com/full"] = strings.Repeat("x", maxAnnotations-used)
	return line.Deployment(tenant, name, annotations, line.FromConfigMap(stir))
}

func jobSpec(name string) batchv1.JobSpec {
	template := line.Deployment(tenant, name, nil, line.FromConfigMap(stir)).Spec.Template
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return batchv1.JobSpec{Template: template}
}

// job is a Job that can be created again only when it is gone. Stuck, a finalizer keeps it; otherwise the request to delete it hangs.
func job(stuck bool) func(name string) object {
	return func(name string) object {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: line.Auto}, Spec: jobSpec(name)}
		if stuck {
			j.Finalizers = []string{"example.com/never"}
		} else {
			j.Labels = map[string]string{hangs: "true"}
		}
		return j
	}
}

// hangingCronJob is a CronJob of which the request to create a Job hangs.
func hangingCronJob(name string) object {
	return &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: line.Auto},
		Spec: batchv1.CronJobSpec{
			Schedule: "0 3 * * *", JobTemplate: batchv1.JobTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{hangs: "true"}}, Spec: jobSpec(name)},
		},
	}
}
