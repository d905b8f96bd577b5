package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/near"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// maxMissing bounds the configs that Lacks names.
const maxMissing = 20

// Dependency is a config of a workload, as far as Reroll knows it.
type Dependency struct {
	// Named reports whether the workload names the config in a list or in its template, and not only by a pattern. Clause is the annotation that
	// does.
	Named  bool
	Clause string
	// Shown reports whether the workload may know whether the config exists.
	Shown bool
	// Looked reports whether Reroll has looked for it, and Unread whether it left the content unread.
	Looked, Unread bool
	Absent         bool
	// Keys are the keys of its content.
	Keys []string
}

// Workload is what a workload asks for.
type Workload struct {
	Namespace string
	// Awaits reports whether the workload does not roll while something is missing that its pods require.
	Awaits bool
	// Dependencies are the configs it depends on, and References those of its pod template.
	Dependencies map[reloader.Config]Dependency
	References   map[reloader.Config]*workload.Reference
}

// Lacks returns the configs and keys that w names or refers to and that do not exist, sorted: the first ones. A config that is optional, or that only
// a pattern matched, is not missing. A list that names api-pasword asks for a config that never changes: its Meant says which one that may be.
func Lacks(w Workload) (missing []reloader.Missing) {
	for _, c := range slices.SortedFunc(maps.Keys(w.Dependencies), compare) {
		m, ok := w.lack(c)
		if !ok {
			continue
		}
		m.Awaited = w.Awaits && m.Required
		if len(m.Keys) > 0 {
			m.Meant = meantKey(m.Keys[0], w.Dependencies[c].Keys)
		} else {
			m.Meant = w.meantConfig(c)
		}
		if missing = append(missing, m); len(missing) == maxMissing {
			break
		}
	}
	return missing
}

// lack returns what w lacks of one config, and whether it lacks anything.
func (w Workload) lack(c reloader.Config) (reloader.Missing, bool) {
	d, r := w.Dependencies[c], w.References[c]
	m := reloader.Missing{Config: c, Required: r != nil && r.Required}
	switch {
	case c.Cluster != "" || c.Kind == reloader.SecretProviderClass || !d.Named:
		return m, false
	case !d.Shown: // nothing says whether it exists
		return reloader.Missing{Config: c}, r != nil || !w.hasTwin(c)
	case !d.Looked || d.Unread:
		return m, false
	case !d.Absent:
		if r != nil {
			m.Keys = slices.DeleteFunc(slices.Clone(r.RequiredKeys), func(key string) bool { return slices.Contains(d.Keys, key) })
		}
		return m, len(m.Keys) > 0
	case r == nil:
		return m, !w.hasTwin(c)
	}
	return m, r.Required || !r.Optional
}

// hasTwin reports whether a config of another kind has the name of c: a list for several kinds means that one. Of two that are both absent, only one
// is missing.
func (w Workload) hasTwin(c reloader.Config) bool {
	for _, kind := range reloader.ConfigKinds {
		twin := reloader.Config{Kind: kind, Namespace: c.Namespace, Name: c.Name}
		d, depends := w.Dependencies[twin]
		if twin == c || !depends || d.Shown && !d.Looked || d.Clause != w.Dependencies[c].Clause {
			continue
		}
		if d.Shown && !d.Absent || compare(twin, c) < 0 {
			return true
		}
	}
	return false
}

// meantConfig returns the config that the name of c probably means: one that the pod template refers to.
func (w Workload) meantConfig(c reloader.Config) string {
	if c.Namespace != w.Namespace {
		return ""
	}
	var used []string
	for _, o := range slices.SortedFunc(maps.Keys(w.References), compare) {
		switch {
		case o == c || w.Dependencies[o].Absent:
		case o.Name == c.Name:
			return fmt.Sprintf("the %s of that name, which the pod template uses", o.Kind)
		case o.Kind == c.Kind:
			used = append(used, o.Name)
		}
	}
	if name, ok := near.Word(c.Name, used); ok {
		return name + ", which the pod template uses"
	}
	return ""
}

// meantKey returns the key that a missing one probably means.
func meantKey(key string, keys []string) string {
	if name, ok := near.Word(key, slices.Sorted(slices.Values(keys))); ok {
		return name + ", which it has"
	}
	return ""
}

func compare(a, b reloader.Config) int { return strings.Compare(a.String(), b.String()) }
