package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
)

// Set is every dialect of an installation, most important first.
type Set []*Dialect

// All returns every dialect, most important first. Adding a tool is one word here.
func All(o StakaterOptions) Set {
	return Set{Own(), Stakater(o), SAP(), Wave(), Collaborne(), Fabric8(), Trigger()}
}

// In returns s as it is read in a cluster of that name, without what its dialects say about some kinds of config.
func (s Set) In(cluster string, without []reloader.ConfigKind) Set {
	changed := make(Set, len(s))
	for i, d := range s {
		here := *d
		here.Here = Here{cluster, slices.Concat(d.Without, without)}
		changed[i] = &here
	}
	return changed
}

// Names returns the names of the dialects of s.
func (s Set) Names() []string {
	names := make([]string, len(s))
	for i, d := range s {
		names[i] = d.Name
	}
	return names
}

// Choose returns the dialects of those names, in the order of s; all of them if there are no names. It fails for an unknown one.
func (s Set) Choose(names []string) (Set, error) {
	for _, name := range names {
		if !slices.Contains(s.Names(), name) {
			return nil, fmt.Errorf("%.40q is not one of %s", name, strings.Join(s.Names(), ", "))
		}
	}
	if len(names) == 0 {
		return s, nil
	}
	return slices.DeleteFunc(slices.Clone(s), func(d *Dialect) bool { return !slices.Contains(names, d.Name) }), nil
}

// KeepsAnnotation reports whether annotations of that key must be kept when a workload or a config is stripped.
func (s Set) KeepsAnnotation(key string) bool {
	return slices.ContainsFunc(s, func(d *Dialect) bool { return d.KeepsAnnotation(key) })
}
