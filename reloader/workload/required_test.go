package workload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// unneeded leaves out whether a config is required, which TestRequired shows.
var unneeded = cmpopts.IgnoreFields(workload.Reference{}, "Required", "Optional", "RequiredKeys")

func TestRequired(t *testing.T) {
	yes, no := true, false
	env := func(key string, optional *bool) corev1.EnvVar {
		v := cmEnv("c", key)
		v.ValueFrom.ConfigMapKeyRef.Optional = optional
		return v
	}
	from := func(optional *bool) corev1.EnvFromSource {
		f := cmFrom("c")
		f.ConfigMapRef.Optional = optional
		return f
	}
	volume := func(optional *bool, items ...corev1.KeyToPath) corev1.Volume {
		v := cmVolume("v", "c", items...)
		v.ConfigMap.Optional = optional
		return v
	}
	one := func(c corev1.Container, volumes ...corev1.Volume) corev1.PodSpec {
		return corev1.PodSpec{Containers: []corev1.Container{c}, Volumes: volumes}
	}
	for name, c := range map[string]struct {
		reason string
		spec   corev1.PodSpec
		want   workload.Reference
	}{
		"variable":          {"its key must be there", one(corev1.Container{Env: []corev1.EnvVar{env("a", nil), env("b", &no)}}), workload.Reference{Required: true, RequiredKeys: []string{"a", "b"}}},
		"optional variable": {"neither the key nor the config", one(corev1.Container{Env: []corev1.EnvVar{env("a", &yes)}}), workload.Reference{Optional: true}},
		"one of two":        {"only one key", one(corev1.Container{Env: []corev1.EnvVar{env("a", &yes), env("b", nil)}}), workload.Reference{Required: true, RequiredKeys: []string{"b"}}},
		"environment":       {"any keys", one(corev1.Container{EnvFrom: []corev1.EnvFromSource{from(nil)}}), workload.Reference{Required: true}},
		"optional, and not": {"one of them needs it", one(corev1.Container{EnvFrom: []corev1.EnvFromSource{from(&yes), from(nil)}}), workload.Reference{Required: true}},
		"volume":            {"it is mounted before the container starts", one(container("m", "v"), volume(nil)), workload.Reference{Required: true}},
		"items":             {"each must be there", one(container("m", "v"), volume(nil, corev1.KeyToPath{Key: "k", Path: "p"})), workload.Reference{Required: true, RequiredKeys: []string{"k"}}},
		"unmounted volume":  {"the kubelet leaves it out", one(corev1.Container{}, volume(nil)), workload.Reference{}},
		"optional volume":   {"with items or without", one(container("m", "v"), volume(&yes, corev1.KeyToPath{Key: "k", Path: "p"})), workload.Reference{Optional: true}},
		"an init container": {"must start, too", corev1.PodSpec{InitContainers: []corev1.Container{{Env: []corev1.EnvVar{env("a", nil)}}}}, workload.Reference{Required: true, RequiredKeys: []string{"a"}}},
	} {
		got := referencesOf(t, c.spec)[reloader.Config{Kind: reloader.ConfigMap, Namespace: "ns", Name: "c"}]
		if got == nil {
			t.Errorf("%s: there is no reference", name)
			continue
		}
		if diff := cmp.Diff(&c.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(workload.Reference{}, "Uses")); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, c.reason, diff)
		}
	}
}
