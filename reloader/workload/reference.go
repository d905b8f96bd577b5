package workload

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
)

// NoContainer is the Container of a Reference that no container makes.
const NoContainer = -1

// Reference is how a pod template refers to one config.
type Reference struct {
	// Uses has one entry for each kind of field and container; keys are sorted.
	Uses []reloader.Use
	// Container is the index of the regular container that carries the mark for this config, or NoContainer if the config is used
	// in no container: an unmounted volume, an image pull secret, a secret for a volume driver. The choice is Stakater's: the first
	// container that mounts the first volume of the config; the first container of all if only an init container mounts it; the
	// first container with a variable from it; the first of all if only an init container has one.
	Container int
	// Waiting are the containers of the template, sorted, that cannot start while the config is not there; nil if all can.
	Waiting []string
	// Required says that no pod starts without the config, and RequiredKeys are the keys that none starts without; sorted. Optional says that
	// pods start without it, and read it where it is there.
	Required, Optional bool
	RequiredKeys       []string
}

// OnlyPulls reports whether the config is used for nothing but pulling images. The kubelet reads it at the next pull; no running pod
// depends on it, and a restart does not bring a new one into effect any sooner.
func (r *Reference) OnlyPulls() bool {
	others := func(u reloader.Use) bool { return u.How != UseImagePullSecret }
	return len(r.Uses) > 0 && !slices.ContainsFunc(r.Uses, others)
}
