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
	// waiting are the containers that cannot start without the config.
	waiting []string
	// required and optional say that some use needs the config, and that some use does without; keys are needed.
	required, optional bool
	keys               []string
}

// need notes a use that says whether it does without the config, or without some keys of it; waiting are the containers that start no sooner.
func (d *draft) need(optional *bool, waiting []string, keys ...string) {
	if optional != nil && *optional {
		d.optional = true
		return
	}
	d.required = true
	d.waiting = append(d.waiting, waiting...)
	d.keys = append(d.keys, keys...)
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
	return &Reference{
		Uses: d.uses, Container: carrier, Waiting: sorted(d.waiting), Required: d.required, Optional: d.optional && !d.required,
		RequiredKeys: sorted(d.keys),
	}
}

func sorted(keys []string) []string {
	slices.Sort(keys)
	return slices.Compact(keys)
}
