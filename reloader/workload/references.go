package workload

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader"
)

// The fields of a pod template that refer to configs, as Use.How names them.
const (
	UseEnv             = "env"
	UseEnvFrom         = "envFrom"
	UseVolume          = "volume"
	UseProjectedVolume = "projectedVolume"
	UseCSIVolume       = "csiVolume"
	UseImagePullSecret = "imagePullSecret"
	UseCSINodePublish  = "csiNodePublishSecret"
)

// UsesByMount are the fields whose configs are used by the containers that mount them, and by none if none does.
var UsesByMount = []string{UseVolume, UseProjectedVolume, UseCSIVolume}

// references returns every config that spec refers to. What lies outside the template, such as the pull secrets of its service
// account, is not followed.
func references(namespace string, spec *corev1.PodSpec) map[reloader.Config]*Reference {
	c := collector{namespace: namespace, spec: spec, found: map[reloader.Config]*draft{}}
	for _, s := range spec.ImagePullSecrets {
		c.use(reloader.Secret, s.Name, reloader.Use{How: UseImagePullSecret})
	}
	for i := range spec.Volumes {
		c.volume(&spec.Volumes[i])
	}
	for i := range spec.Containers {
		c.variables(&spec.Containers[i], i, spec.Containers[i].Name)
	}
	for i := range spec.InitContainers {
		c.variables(&spec.InitContainers[i], 0, namesFrom(spec, i)...)
	}
	out := make(map[reloader.Config]*Reference, len(c.found))
	for config, d := range c.found {
		out[config] = d.reference()
	}
	return out
}

// collector walks one pod spec.
type collector struct {
	namespace string
	spec      *corev1.PodSpec
	found     map[reloader.Config]*draft
}

// use notes one use of a config and returns the draft of its reference; nil if no config can have that name.
func (c *collector) use(kind reloader.ConfigKind, name string, u reloader.Use) *draft {
	config := reloader.Config{Kind: kind, Namespace: c.namespace, Name: name}
	d := c.found[config]
	if d == nil {
		if name == "" || config.Validate() != nil {
			return nil
		}
		d = &draft{byVolume: NoContainer, byVariable: NoContainer}
		c.found[config] = d
	}
	d.add(u)
	return d
}

// namesFrom returns the containers that start after the init container i has: itself, those behind it, and all regular ones.
func namesFrom(spec *corev1.PodSpec, i int) []string {
	var names []string
	for _, each := range slices.Concat(spec.InitContainers[i:], spec.Containers) {
		names = append(names, each.Name)
	}
	return names
}

// variables notes the configs that feed c's environment; carrier is the regular container that would carry their marks, and waiting are the
// containers that do not start before spec can.
func (c *collector) variables(spec *corev1.Container, carrier int, waiting ...string) {
	note := func(kind reloader.ConfigKind, name, how string, optional *bool, keys ...string) {
		d := c.use(kind, name, reloader.Use{How: how, Container: spec.Name, Keys: keys})
		if d == nil {
			return
		}
		d.need(optional, waiting, keys...)
		if d.byVariable == NoContainer {
			d.byVariable = carrier
		}
	}
	for _, e := range spec.Env {
		if e.ValueFrom == nil {
			continue
		}
		if r := e.ValueFrom.ConfigMapKeyRef; r != nil {
			note(reloader.ConfigMap, r.Name, UseEnv, r.Optional, r.Key)
		}
		if r := e.ValueFrom.SecretKeyRef; r != nil {
			note(reloader.Secret, r.Name, UseEnv, r.Optional, r.Key)
		}
	}
	for _, e := range spec.EnvFrom {
		if r := e.ConfigMapRef; r != nil {
			note(reloader.ConfigMap, r.Name, UseEnvFrom, r.Optional)
		}
		if r := e.SecretRef; r != nil {
			note(reloader.Secret, r.Name, UseEnvFrom, r.Optional)
		}
	}
}
