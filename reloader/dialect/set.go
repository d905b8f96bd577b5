package dialect

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Set is every dialect of an installation, most important first. However many of them ask, a workload and a config have one
// Decision.
type Set []*Dialect

// Interest joins the interests of all dialects that w is opted in to, and reports whether there is any. Its Dialect is the first.
func (s Set) Interest(w *workload.Workload) (Interest, bool) {
	var all Interest
	var faults []string
	found := false
	for _, d := range s {
		i, ok := d.Interest(w)
		switch {
		case d.Overrules && d.silences(w):
			return Interest{}, false
		case !ok && d.Overrules:
			faults = append(faults, i.Problems...) // what it chooses holds for the others
			continue
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
	all.Problems = append(all.Problems, faults...)
	return all.bounded(), found
}

// Decide returns the first decision to reload, unless a dialect that overrules the others forbids it. If there is none, it returns the
// first that knows more than that w is not opted in.
func (s Set) Decide(w *workload.Workload, c ConfigMeta) Decision {
	asking, answer := s.decide(w, c)
	if len(asking) > 0 {
		return asking[0].decision
	}
	return answer
}

// asking is a dialect that demands a reload.
type asking struct {
	dialect  *Dialect
	decision Decision
}

// decide returns every demand to reload, and the answer if there is none. A config that w may follow from its own cluster, and for which nothing
// else demands a reload now, is one that it follows.
func (s Set) decide(w *workload.Workload, c ConfigMeta) ([]asking, Decision) {
	demands, answer := s.decideHere(w, c)
	if len(demands) > 0 || c.Follows == "" {
		return demands, answer
	}
	c.Config.Cluster = c.Follows
	if demands, _ := s.decideHere(w, c); len(demands) > 0 {
		return demands, Decision{}
	}
	return nil, answer
}

func (s Set) decideHere(w *workload.Workload, c ConfigMeta) ([]asking, Decision) {
	var demands []asking
	answer := Decision{Why: reloader.ReasonNotOptedIn}
	for _, d := range s {
		here := d.Decide(w, c)
		switch {
		case here.Reload:
			demands = append(demands, asking{d, here})
		case d.Overrules && forbids(here.Why):
			return nil, here
		}
		if answer.Why == reloader.ReasonNotOptedIn && here.Why != reloader.ReasonNotOptedIn || answer.Dialect == "" {
			answer = here
		}
	}
	return demands, answer
}

// Asking returns the dialects that demand a reload of w for a change of c, the first of those that write the same mark.
func (s Set) Asking(w *workload.Workload, c ConfigMeta) []*Dialect {
	demands, _ := s.decide(w, c)
	var found []*Dialect
	for _, a := range demands {
		if !slices.ContainsFunc(found, func(d *Dialect) bool { return d.Marks == a.dialect.Marks }) {
			found = append(found, a.dialect)
		}
	}
	return found
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

// Window returns the quiet window that w asks for; false means that it leaves that to the installation.
func (s Set) Window(w *workload.Workload) (time.Duration, bool) {
	for _, d := range s {
		value, said := w.Annotations[d.Choices.Window]
		if period, err := duration(value, maxWindow); said && value != "" && err == nil {
			return period, true
		}
	}
	return 0, false
}

// MinInterval returns the shortest time between two rolls of w that it asks for; false means that it leaves that to the installation. One that cannot
// be read is the longest that it may be.
func (s Set) MinInterval(w *workload.Workload) (time.Duration, bool) {
	for _, d := range s {
		value := w.Annotations[d.Choices.MinInterval]
		if value == "" {
			continue
		}
		period, err := duration(value, maxPausePeriod)
		if err != nil {
			period = maxPausePeriod
		}
		return period, true
	}
	return 0, false
}

// Shows reports whether w may know anything of c. A config of another namespace says so itself, be it to w's namespace or, if w follows it by the
// name of its cluster, to that. Of one that does not, w is to learn no more than of one that does not exist.
func (s Set) Shows(w *workload.Workload, c ConfigMeta) bool {
	if c.ShowsTo(w.Namespace) {
		return true
	}
	if c.Follows == "" {
		return false
	}
	c.Config.Cluster = c.Follows
	demands, _ := s.decideHere(w, c)
	return len(demands) > 0
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
