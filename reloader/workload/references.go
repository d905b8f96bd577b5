package workload

import (
	"path"
	"slices"
	"strings"

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

// Reference is how a pod template refers to one config.
type Reference struct {
	// Uses has one entry for each kind of field and container, volumes before variables; keys are sorted.
	Uses []reloader.Use
	// Required says that no pod starts without the config, and RequiredKeys are the keys that none starts without; sorted. Optional says that
	// pods start without it, and read it where it exists.
	Required, Optional bool
	RequiredKeys       []string
}

// OnlyPulls reports whether the config is used for nothing but pulling images. The kubelet reads it at the next pull; no running pod
// depends on it, and a restart does not bring a new one into effect any sooner.
func (r *Reference) OnlyPulls() bool {
	others := func(u reloader.Use) bool { return u.How != UseImagePullSecret }
	return len(r.Uses) > 0 && !slices.ContainsFunc(r.Uses, others)
}

// references returns every config that template refers to. References outside the template, such as the pull secrets of its service
// account, are not followed.
func references(namespace string, template *corev1.PodTemplateSpec) reloader.ByConfig[*Reference] {
	spec := &template.Spec
	c := collector{namespace: namespace, containers: slices.Concat(spec.Containers, spec.InitContainers)}
	for _, s := range spec.ImagePullSecrets {
		c.use(reloader.Secret, s.Name, reloader.Use{How: UseImagePullSecret})
	}
	for i := range spec.Volumes {
		c.volume(&spec.Volumes[i])
	}
	for i := range c.containers {
		c.variables(&c.containers[i])
	}
	for _, r := range c.found.All() {
		r.RequiredKeys = sorted(r.RequiredKeys)
	}
	return c.found
}

// collector walks one pod template.
type collector struct {
	namespace string
	// containers are the regular ones and then the init containers.
	containers []corev1.Container
	found      reloader.ByConfig[*Reference]
}

// use adds one use of a config and returns the reference; nil if no config can have that name. It joins u to the use of the same field and
// container, if there is one. A use without keys is one of all keys.
func (c *collector) use(kind reloader.ConfigKind, name string, u reloader.Use) *Reference {
	config := reloader.Config{Kind: kind, Namespace: c.namespace, Name: name}
	r := c.found.Get(config)
	if r == nil {
		if name == "" || config.Validate() != nil {
			return nil
		}
		r = &Reference{}
		c.found.Set(config, r)
	}
	u.Keys = sorted(u.Keys)
	i := slices.IndexFunc(r.Uses, func(o reloader.Use) bool { return o.How == u.How && o.Container == u.Container })
	switch {
	case i < 0:
		r.Uses = append(r.Uses, u)
	case len(u.Keys) == 0 || len(r.Uses[i].Keys) == 0:
		r.Uses[i].Keys = nil
	default:
		r.Uses[i].Keys = sorted(append(r.Uses[i].Keys, u.Keys...))
	}
	if i >= 0 {
		r.Uses[i].SubPath = r.Uses[i].SubPath || u.SubPath
	}
	return r
}

// need notes whether pods start without the config, or without some keys of it.
func (r *Reference) need(optional *bool, keys ...string) {
	if optional != nil && *optional {
		r.Optional = !r.Required
		return
	}
	r.Required, r.Optional = true, false
	r.RequiredKeys = append(r.RequiredKeys, keys...)
}

// variables notes the configs that feed the environment of a container.
func (c *collector) variables(container *corev1.Container) {
	note := func(kind reloader.ConfigKind, name, how string, optional *bool, keys ...string) {
		if r := c.use(kind, name, reloader.Use{How: how, Container: container.Name, Keys: slices.Clone(keys)}); r != nil {
			r.need(optional, keys...)
		}
	}
	for _, e := range container.Env {
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
	for _, e := range container.EnvFrom {
		if r := e.ConfigMapRef; r != nil {
			note(reloader.ConfigMap, r.Name, UseEnvFrom, r.Optional)
		}
		if r := e.SecretRef; r != nil {
			note(reloader.Secret, r.Name, UseEnvFrom, r.Optional)
		}
	}
}

// classAttribute is the attribute of a CSI volume that names its SecretProviderClass, whatever the driver is called.
const classAttribute = "secretProviderClass"

// volume notes the configs of v: those whose keys become files, and the secret that its CSI driver reads.
func (c *collector) volume(v *corev1.Volume) {
	if s := v.ConfigMap; s != nil {
		c.files(v.Name, reloader.ConfigMap, s.Name, UseVolume, s.Items, s.Optional)
	}
	if s := v.Secret; s != nil {
		c.files(v.Name, reloader.Secret, s.SecretName, UseVolume, s.Items, s.Optional)
	}
	if v.Projected != nil {
		for _, s := range v.Projected.Sources {
			if m := s.ConfigMap; m != nil {
				c.files(v.Name, reloader.ConfigMap, m.Name, UseProjectedVolume, m.Items, m.Optional)
			}
			if m := s.Secret; m != nil {
				c.files(v.Name, reloader.Secret, m.Name, UseProjectedVolume, m.Items, m.Optional)
			}
		}
	}
	if s := v.CSI; s != nil {
		// The provider decides which object of the class becomes which file.
		c.mounts(v.Name, reloader.SecretProviderClass, s.VolumeAttributes[classAttribute], UseCSIVolume, func(corev1.VolumeMount) []string { return nil })
		if s.NodePublishSecretRef != nil {
			c.use(reloader.Secret, s.NodePublishSecretRef.Name, reloader.Use{How: UseCSINodePublish})
		}
	}
}

// files notes a config whose keys, all or those of items, are files of a volume. Pods wait for it only if some container mounts the volume.
func (c *collector) files(volume string, kind reloader.ConfigKind, name, how string, items []corev1.KeyToPath, optional *bool) {
	r, mounted := c.mounts(volume, kind, name, how, func(m corev1.VolumeMount) []string { return mountedKeys(items, m) })
	if r != nil && mounted {
		r.need(optional, itemKeys(items)...)
	}
}

// mounts notes a config that becomes a volume: one use for each mount, or one without a container if there is none. keys returns
// the keys that a mount shows; the zero mount shows the whole volume.
func (c *collector) mounts(volume string, kind reloader.ConfigKind, name, how string, keys func(corev1.VolumeMount) []string) (r *Reference, mounted bool) {
	for i := range c.containers {
		for _, m := range c.containers[i].VolumeMounts {
			if m.Name == volume {
				r, mounted = c.use(kind, name, reloader.Use{How: how, Container: c.containers[i].Name, Keys: keys(m), SubPath: m.SubPath != "" || m.SubPathExpr != ""}), true
			}
		}
	}
	if !mounted {
		r = c.use(kind, name, reloader.Use{How: how, Keys: keys(corev1.VolumeMount{})})
	}
	return r, mounted
}

// mountedKeys returns the keys that a mount shows, nil for all. A subPath shows one file of the volume. If items choose the files, all of them
// count as used, because a reload too many is better than one too few.
func mountedKeys(items []corev1.KeyToPath, m corev1.VolumeMount) []string {
	first, _, _ := strings.Cut(path.Clean(m.SubPath), "/")
	if len(items) > 0 || first == "." || first == "" {
		return itemKeys(items)
	}
	return []string{first}
}

func itemKeys(items []corev1.KeyToPath) []string {
	var keys []string
	for _, i := range items {
		keys = append(keys, i.Key)
	}
	return keys
}

func sorted(keys []string) []string {
	slices.Sort(keys)
	return slices.Compact(keys)
}
