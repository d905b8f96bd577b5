package workload

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
)

// draft is a Reference under construction.
type draft struct {
	uses []reloader.Use
	// byVolume and byVariable are the containers that carry the mark because they mount the config first, or have a variable of it.
	byVolume, byVariable int
	// required are the containers that cannot start without the config.
	required []string
}

// add joins u to the use of the same field and container, if there is one. A use without keys is one of all keys.
func (d *draft) add(u reloader.Use) {
	i := slices.IndexFunc(d.uses, func(o reloader.Use) bool { return o.How == u.How && o.Container == u.Container })
	switch {
	case i < 0:
		d.uses = append(d.uses, reloader.Use{How: u.How, Container: u.Container, Keys: sorted(u.Keys)})
	case len(u.Keys) == 0 || len(d.uses[i].Keys) == 0:
		d.uses[i].Keys = nil
	default:
		d.uses[i].Keys = sorted(append(d.uses[i].Keys, u.Keys...))
	}
}

func (d *draft) reference() *Reference {
	carrier := d.byVolume
	if carrier == NoContainer {
		carrier = d.byVariable
	}
	return &Reference{Uses: d.uses, Container: carrier, Required: sorted(d.required)}
}

func sorted(keys []string) []string {
	slices.Sort(keys)
	return slices.Compact(keys)
}
