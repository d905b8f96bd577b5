package dialect

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Set is every dialect of an installation, most important first. However many of them ask, a workload and a config have one
// Decision.
type Set []*Dialect

// Interest joins the interests of all dialects that w is opted in to, and reports whether there is any. Its Dialect is the first.
func (s Set) Interest(w *workload.Workload) (Interest, bool) {
	var all Interest
	found := false
	for _, d := range s {
		i, ok := d.Interest(w)
		switch {
		case !ok:
			continue
		case !found:
			all, found = i, true
			continue
		}
		all.Exact = sortedConfigs(append(all.Exact, i.Exact...))
		all.Patterns = append(all.Patterns, i.Patterns...)
		all.Problems = append(all.Problems, i.Problems...)
	}
	return all, found
}

// Decide returns the first decision to reload. If there is none, it returns the first that knows more than that w is not opted in.
func (s Set) Decide(w *workload.Workload, c ConfigMeta) Decision {
	answer := Decision{Why: reloader.ReasonNotOptedIn}
	for _, d := range s {
		here := d.Decide(w, c)
		if here.Reload {
			return here
		}
		if answer.Why == reloader.ReasonNotOptedIn && here.Why != reloader.ReasonNotOptedIn || answer.Dialect == "" {
			answer = here
		}
	}
	return answer
}

// Pause returns the pause that was begun or, if there is none, the first that w asks for.
func (s Set) Pause(w *workload.Workload) Pause {
	var asked Pause
	for _, d := range s {
		p := d.Pause(w)
		if p.Begun {
			return p
		}
		if asked.Period == 0 {
			asked = p
		}
	}
	return asked
}

// KeepsAnnotation reports whether annotations of that key must be kept when a workload or a config is stripped.
func (s Set) KeepsAnnotation(key string) bool {
	return slices.ContainsFunc(s, func(d *Dialect) bool { return d.KeepsAnnotation(key) })
}

// Named returns the dialect of that name.
func (s Set) Named(name string) (*Dialect, bool) {
	i := slices.IndexFunc(s, func(d *Dialect) bool { return d.Name == name })
	if i < 0 {
		return nil, false
	}
	return s[i], true
}
