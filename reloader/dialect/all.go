package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
)

// All returns every dialect, most important first. Adding a tool is one word here.
func All(o StakaterOptions) Set {
	return Set{Own(), Stakater(o), SAP(), Wave(), Collaborne(), Fabric8(), Trigger()}
}

// Without returns s without what its dialects say about some kinds of config.
func (s Set) Without(kinds []reloader.ConfigKind) Set {
	if len(kinds) == 0 {
		return s
	}
	changed := make(Set, len(s))
	for i, old := range s {
		d := *old
		d.Clauses = nil
		for _, c := range old.Clauses {
			about := c.Kinds
			if about == nil {
				about = reloader.ConfigKinds
			}
			c.Kinds = slices.DeleteFunc(slices.Clone(about), func(k reloader.ConfigKind) bool { return slices.Contains(kinds, k) })
			if len(c.Kinds) > 0 {
				d.Clauses = append(d.Clauses, c)
			}
		}
		changed[i] = &d
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

// Choose returns the dialects of those names, in the order of s. It fails if there is no name, or one that s does not have.
func (s Set) Choose(names []string) (Set, error) {
	chosen := map[string]bool{}
	for _, name := range names {
		if _, ok := s.Named(name); !ok {
			return nil, fmt.Errorf("%.40q is not one of %s", name, strings.Join(s.Names(), ", "))
		}
		chosen[name] = true
	}
	var found Set
	for _, d := range s {
		if chosen[d.Name] {
			found = append(found, d)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there must be at least one of %s", strings.Join(s.Names(), ", "))
	}
	return found, nil
}
