package workload

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader"
)

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
	if v.CSI != nil {
		// Which object of the class becomes which file is for its provider to say.
		c.mounts(v.Name, reloader.SecretProviderClass, v.CSI.VolumeAttributes[classAttribute], UseCSIVolume,
			func(corev1.VolumeMount) []string { return nil })
	}
	if v.CSI != nil && v.CSI.NodePublishSecretRef != nil {
		c.use(reloader.Secret, v.CSI.NodePublishSecretRef.Name, reloader.Use{How: UseCSINodePublish})
	}
}

// classAttribute is the attribute of a CSI volume that names its SecretProviderClass, whatever the driver is called.
const classAttribute = "secretProviderClass"

// files notes a config whose keys are files of a volume, all or those of items. A volume that some container mounts is there before any
// container starts, unless it may lack the config; one that none mounts keeps nobody waiting.
func (c *collector) files(volume string, kind reloader.ConfigKind, name, how string, items []corev1.KeyToPath, optional *bool) {
	mounted := c.mounts(volume, kind, name, how, func(m corev1.VolumeMount) []string { return mountedKeys(items, m) })
	if d := c.found[reloader.Config{Kind: kind, Namespace: c.namespace, Name: name}]; mounted && d != nil {
		d.need(optional, namesFrom(c.spec, 0), itemKeys(items)...)
	}
}

// mounts notes a config that becomes a volume: one use for each mount, or one without a container if there is none. keys returns
// the keys that a mount shows; the zero mount shows the whole volume. It reports whether some container mounts it.
func (c *collector) mounts(volume string, kind reloader.ConfigKind, name, how string, keys func(m corev1.VolumeMount) []string) (mounted bool) {
	carrier := NoContainer
	var uses []reloader.Use
	visit := func(list []corev1.Container, carrierOf func(i int) int) {
		for i := range list {
			for _, m := range list[i].VolumeMounts {
				if m.Name != volume {
					continue
				}
				uses = append(uses, reloader.Use{How: how, Container: list[i].Name, Keys: keys(m)})
				if carrier == NoContainer {
					carrier = carrierOf(i)
				}
			}
		}
	}
	visit(c.spec.Containers, func(i int) int { return i })
	visit(c.spec.InitContainers, func(int) int { return 0 })
	if mounted = len(uses) > 0; !mounted {
		uses = []reloader.Use{{How: how, Keys: keys(corev1.VolumeMount{})}}
	}
	for _, u := range uses {
		if d := c.use(kind, name, u); d != nil && d.byVolume == NoContainer {
			d.byVolume = carrier
		}
	}
	return mounted
}

// mountedKeys returns the keys that a mount shows, nil for all. A subPath shows one file or directory of the volume; if that is no
// item, all items are taken to be used, because a reload too many is better than one too few.
func mountedKeys(items []corev1.KeyToPath, m corev1.VolumeMount) []string {
	if m.SubPath == "" {
		return itemKeys(items)
	}
	shown := path.Clean(m.SubPath)
	if len(items) == 0 {
		first, _, _ := strings.Cut(shown, "/")
		if first == "." || first == "" {
			return nil
		}
		return []string{first}
	}
	inside := slices.DeleteFunc(slices.Clone(items), func(i corev1.KeyToPath) bool {
		file := path.Clean(i.Path)
		return file != shown && !strings.HasPrefix(file, shown+"/")
	})
	if len(inside) == 0 {
		return itemKeys(items)
	}
	return itemKeys(inside)
}

func itemKeys(items []corev1.KeyToPath) []string {
	var keys []string
	for _, i := range items {
		keys = append(keys, i.Key)
	}
	return keys
}
