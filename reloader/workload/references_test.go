package workload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

func referencesOf(t *testing.T, spec corev1.PodSpec) map[reloader.Config]*workload.Reference {
	t.Helper()
	found := map[reloader.Config]*workload.Reference{}
	for c, r := range templateOf(t, spec).References.All() {
		found[c] = r
	}
	return found
}

func templateOf(t *testing.T, spec corev1.PodSpec) workload.Template {
	t.Helper()
	d := &appsv1.Deployment{}
	d.Namespace, d.Spec.Template.Spec = "ns", spec
	w, err := workload.Deployment.Strip(d, keepAll)
	if err != nil {
		t.Fatal(err)
	}
	return w.Template
}

func cm(name string) reloader.Config {
	return reloader.Config{Kind: reloader.ConfigMap, Namespace: "ns", Name: name}
}

func sec(name string) reloader.Config {
	return reloader.Config{Kind: reloader.Secret, Namespace: "ns", Name: name}
}

func spc(name string) reloader.Config {
	return reloader.Config{Kind: reloader.SecretProviderClass, Namespace: "ns", Name: name}
}

func csiVolume(volume, class string) corev1.Volume {
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		CSI: &corev1.CSIVolumeSource{Driver: "some.driver", VolumeAttributes: map[string]string{"secretProviderClass": class}},
	}}
}

func local(name string) corev1.LocalObjectReference {
	return corev1.LocalObjectReference{Name: name}
}

func cmEnv(name, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: "V", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: local(name), Key: key}}}
}

func secEnv(name, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: "V", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: local(name), Key: key}}}
}

func cmFrom(name string) corev1.EnvFromSource {
	return corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: local(name)}}
}

func secFrom(name string) corev1.EnvFromSource {
	return corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: local(name)}}
}

func cmVolume(volume, name string, items ...corev1.KeyToPath) corev1.Volume {
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: local(name), Items: items},
	}}
}

func secVolume(volume, name string, items ...corev1.KeyToPath) corev1.Volume {
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name, Items: items}}}
}

func container(name string, mounts ...string) corev1.Container {
	c := corev1.Container{Name: name}
	for _, m := range mounts {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: m, MountPath: "/" + m})
	}
	return c
}

func with(c corev1.Container, env []corev1.EnvVar, from ...corev1.EnvFromSource) corev1.Container {
	c.Env, c.EnvFrom = env, from
	return c
}

func TestUses(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	item := func(key, path string) corev1.KeyToPath { return corev1.KeyToPath{Key: key, Path: path} }
	subPath := func(c corev1.Container, path string) corev1.Container {
		c.VolumeMounts[0].SubPath = path
		return c
	}
	cases := map[string]struct {
		reason string
		spec   corev1.PodSpec
		want   map[reloader.Config][]reloader.Use
	}{
		"env": {
			reason: "keys of one config in one container are one use, sorted and without repeats",
			spec:   corev1.PodSpec{Containers: []corev1.Container{with(container("m"), []corev1.EnvVar{cmEnv("c", "b"), cmEnv("c", "a"), cmEnv("c", "b"), secEnv("s", "k")})}},
			want:   map[reloader.Config][]reloader.Use{cm("c"): {{How: "env", Container: "m", Keys: []string{"a", "b"}}}, sec("s"): {{How: "env", Container: "m", Keys: []string{"k"}}}},
		},
		"envFrom": {
			reason: "all keys are used, whatever another variable takes",
			spec:   corev1.PodSpec{Containers: []corev1.Container{with(container("m"), []corev1.EnvVar{cmEnv("c", "a")}, cmFrom("c"), secFrom("s"))}},
			want:   map[reloader.Config][]reloader.Use{cm("c"): {{How: "env", Container: "m", Keys: []string{"a"}}, {How: "envFrom", Container: "m"}}, sec("s"): {{How: "envFrom", Container: "m"}}},
		},
		"other variables": {
			reason: "field references and plain values name no config",
			spec: corev1.PodSpec{Containers: []corev1.Container{with(container("m"), []corev1.EnvVar{
				{Name: "A", Value: "1"},
				{Name: "B", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
			})}},
			want: map[reloader.Config][]reloader.Use{},
		},
		"volumes": {
			reason: "one use for each container that mounts it; items restrict the keys",
			spec: corev1.PodSpec{
				Volumes:    []corev1.Volume{cmVolume("v", "c", item("y", "y"), item("x", "dir/x")), secVolume("w", "s")},
				Containers: []corev1.Container{container("m", "v"), container("n", "v", "w")},
			},
			want: map[reloader.Config][]reloader.Use{
				cm("c"):  {{How: "volume", Container: "m", Keys: []string{"x", "y"}}, {How: "volume", Container: "n", Keys: []string{"x", "y"}}},
				sec("s"): {{How: "volume", Container: "n"}},
			},
		},
		"unmounted volume": {
			reason: "the kubelet waits for the config although no container sees it",
			spec:   corev1.PodSpec{Volumes: []corev1.Volume{cmVolume("v", "c")}, Containers: []corev1.Container{container("m")}},
			want:   map[reloader.Config][]reloader.Use{cm("c"): {{How: "volume"}}},
		},
		"projected": {
			reason: "each source is a use",
			spec: corev1.PodSpec{
				Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: local("c"), Items: []corev1.KeyToPath{item("k", "k")}}},
					{Secret: &corev1.SecretProjection{LocalObjectReference: local("s")}},
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
				}}}}},
				Containers: []corev1.Container{container("m", "v")},
			},
			want: map[reloader.Config][]reloader.Use{cm("c"): {{How: "projectedVolume", Container: "m", Keys: []string{"k"}}}, sec("s"): {{How: "projectedVolume", Container: "m"}}},
		},
		"subPath without items": {
			reason: "the file is the key",
			spec:   corev1.PodSpec{Volumes: []corev1.Volume{cmVolume("v", "c")}, Containers: []corev1.Container{subPath(container("m", "v"), "./app.yaml")}},
			want:   map[reloader.Config][]reloader.Use{cm("c"): {{How: "volume", Container: "m", SubPath: true, Keys: []string{"app.yaml"}}}},
		},
		"subPath that is the root": {
			reason: "all keys are shown",
			spec:   corev1.PodSpec{Volumes: []corev1.Volume{cmVolume("v", "c")}, Containers: []corev1.Container{subPath(container("m", "v"), "./")}},
			want:   map[reloader.Config][]reloader.Use{cm("c"): {{How: "volume", Container: "m", SubPath: true}}},
		},
		"subPath of a directory of items": {
			reason: "the items below it are shown",
			spec:   corev1.PodSpec{Volumes: []corev1.Volume{cmVolume("v", "c", item("a", "d/a"), item("b", "d/b"), item("e", "de"))}, Containers: []corev1.Container{subPath(container("m", "v"), "d")}},
			want:   map[reloader.Config][]reloader.Use{cm("c"): {{How: "volume", Container: "m", SubPath: true, Keys: []string{"a", "b"}}}},
		},
		"subPath that is no item": {
			reason: "rather a reload too many",
			spec:   corev1.PodSpec{Volumes: []corev1.Volume{cmVolume("v", "c", item("a", "d/a"))}, Containers: []corev1.Container{subPath(container("m", "v"), "else")}},
			want:   map[reloader.Config][]reloader.Use{cm("c"): {{How: "volume", Container: "m", SubPath: true, Keys: []string{"a"}}}},
		},
		"init containers and native sidecars": {
			reason: "both are init containers",
			spec: corev1.PodSpec{
				Volumes: []corev1.Volume{secVolume("v", "s")},
				InitContainers: []corev1.Container{
					with(container("init", "v"), []corev1.EnvVar{cmEnv("c", "k")}),
					{Name: "sidecar", RestartPolicy: &always, EnvFrom: []corev1.EnvFromSource{cmFrom("d")}},
				},
				Containers: []corev1.Container{container("m")},
			},
			want: map[reloader.Config][]reloader.Use{
				cm("c"): {{How: "env", Container: "init", Keys: []string{"k"}}}, cm("d"): {{How: "envFrom", Container: "sidecar"}}, sec("s"): {{How: "volume", Container: "init"}},
			},
		},
		"provider class": {
			reason: "the attribute counts whatever the driver is called, and its provider says which object becomes which file",
			spec: corev1.PodSpec{
				Volumes:        []corev1.Volume{csiVolume("v", "p"), csiVolume("w", "")},
				InitContainers: []corev1.Container{container("init", "v")},
				Containers:     []corev1.Container{subPath(container("m", "v"), "db"), container("n", "w")},
			},
			want: map[reloader.Config][]reloader.Use{spc("p"): {{How: "csiVolume", Container: "m", SubPath: true}, {How: "csiVolume", Container: "init"}}},
		},
		"unmounted provider class": {
			reason: "the kubelet mounts it although no container sees it",
			spec:   corev1.PodSpec{Volumes: []corev1.Volume{csiVolume("v", "p")}, Containers: []corev1.Container{container("m")}},
			want:   map[reloader.Config][]reloader.Use{spc("p"): {{How: "csiVolume"}}},
		},
		"provider class and the secret of its driver": {
			reason: "they are two configs",
			spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
				NodePublishSecretRef: &corev1.LocalObjectReference{Name: "s"}, VolumeAttributes: map[string]string{"secretProviderClass": "p"},
			}}}}, Containers: []corev1.Container{container("m", "v")}},
			want: map[reloader.Config][]reloader.Use{spc("p"): {{How: "csiVolume", Container: "m"}}, sec("s"): {{How: "csiNodePublishSecret"}}},
		},
		"image pull secrets": {
			reason: "used by the pod, not by a container",
			spec:   corev1.PodSpec{ImagePullSecrets: []corev1.LocalObjectReference{local("p"), local("")}},
			want:   map[reloader.Config][]reloader.Use{sec("p"): {{How: "imagePullSecret"}}},
		},
		"impossible names": {
			reason: "no object can have them, and no subject may be built of them",
			spec:   corev1.PodSpec{Containers: []corev1.Container{with(container("m"), []corev1.EnvVar{cmEnv("", "k"), cmEnv("a/b", "k"), secEnv("*", "k")})}},
			want:   map[reloader.Config][]reloader.Use{},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := map[reloader.Config][]reloader.Use{}
			for config, r := range referencesOf(t, c.spec) {
				got[config] = r.Uses
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty(), unneeded); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
