package workload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader"
)

func TestWaiting(t *testing.T) {
	always, yes, no := corev1.ContainerRestartPolicyAlways, true, false
	from := func(name string, optional *bool) corev1.EnvFromSource {
		return corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: local(name), Optional: optional}}
	}
	one := func(optional *bool) corev1.EnvVar {
		return corev1.EnvVar{Name: "V", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: local("s"), Key: "k", Optional: optional},
		}}
	}
	volume := func(optional *bool) corev1.Volume {
		v := cmVolume("v", "c")
		v.ConfigMap.Optional = optional
		return v
	}
	projected := corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: local("c"), Optional: &yes}},
		{Secret: &corev1.SecretProjection{LocalObjectReference: local("s")}},
	}}}}
	cases := map[string]struct {
		reason string
		spec   corev1.PodSpec
		want   map[reloader.Config][]string
	}{
		"variables": {
			"the other containers start without it",
			corev1.PodSpec{Containers: []corev1.Container{with(container("m"), []corev1.EnvVar{one(nil)}, from("c", &no)), container("n")}},
			map[reloader.Config][]string{cm("c"): {"m"}, sec("s"): {"m"}},
		},
		"optional variables": {
			"nobody waits for it",
			corev1.PodSpec{Containers: []corev1.Container{with(container("m"), []corev1.EnvVar{one(&yes)}, from("c", &yes))}},
			map[reloader.Config][]string{cm("c"): nil, sec("s"): nil},
		},
		"optional for one of two": {
			"the other waits",
			corev1.PodSpec{Containers: []corev1.Container{with(container("m"), nil, from("c", &yes)), with(container("n"), nil, from("c", nil))}},
			map[reloader.Config][]string{cm("c"): {"n"}},
		},
		"variables of an init container and of a sidecar": {
			"what comes behind waits, and what comes before does not",
			corev1.PodSpec{
				InitContainers: []corev1.Container{
					container("first"), with(container("second"), nil, from("c", nil)),
					{Name: "third", RestartPolicy: &always, Env: []corev1.EnvVar{one(nil)}},
				},
				Containers: []corev1.Container{container("m")},
			},
			map[reloader.Config][]string{cm("c"): {"m", "second", "third"}, sec("s"): {"m", "third"}},
		},
		"a volume": {
			"it is mounted before anything starts",
			corev1.PodSpec{Volumes: []corev1.Volume{volume(nil)}, InitContainers: []corev1.Container{container("i")}, Containers: []corev1.Container{container("m"), container("n", "v")}},
			map[reloader.Config][]string{cm("c"): {"i", "m", "n"}},
		},
		"an optional volume": {
			"it may be empty",
			corev1.PodSpec{Volumes: []corev1.Volume{volume(&yes)}, Containers: []corev1.Container{container("m", "v")}},
			map[reloader.Config][]string{cm("c"): nil},
		},
		"a volume that nobody mounts": {
			"a roll too many is worse here than one too few",
			corev1.PodSpec{Volumes: []corev1.Volume{volume(nil)}, Containers: []corev1.Container{container("m")}},
			map[reloader.Config][]string{cm("c"): nil},
		},
		"a projected volume": {
			"each source says for itself whether it is optional",
			corev1.PodSpec{Volumes: []corev1.Volume{projected}, Containers: []corev1.Container{container("m", "v")}},
			map[reloader.Config][]string{cm("c"): nil, sec("s"): {"m"}},
		},
		"an image pull secret": {
			"the image may be there, or need no secret",
			corev1.PodSpec{ImagePullSecrets: []corev1.LocalObjectReference{local("s")}, Containers: []corev1.Container{container("m")}},
			map[reloader.Config][]string{sec("s"): nil},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			got := map[reloader.Config][]string{}
			for config, r := range referencesOf(t, test.spec) {
				got[config] = r.Waiting
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
