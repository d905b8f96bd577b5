package dialect

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Decide says whether a change of c reloads w. The first clause that asks or forbids wins; if none does, the first that came close
// gives the reason. A config of another namespace reloads w only if a list names it with its namespace, and the config says that it may:
// otherwise the answer is that for a config that does not exist. One of another cluster reloads w only if w follows it, and its owner sends copies of it.
func (d *Dialect) Decide(w *workload.Workload, c ConfigMeta) Decision {
	c = c.shownTo(w)
	answer := Decision{Dialect: d.Name, Why: reloader.ReasonNotOptedIn}
	if !d.speaks(w) {
		return answer
	}
	if c.Unselected && c.Config.Cluster == "" && c.Config.Namespace == w.Namespace {
		answer.Why = reloader.ReasonConfigUnselected
		return answer
	}
	s := d.scope(w, c.Config.Kind)
	for _, clause := range s.clauses {
		if !clause.reaches(w, c.Config) {
			continue
		}
		why := meanings[clause.Meaning].decide(s, clause, c)
		if why == "" {
			continue
		}
		here := Decision{Reload: Asks(why), Dialect: d.Name, Why: why, Clause: clause.Key}
		if here.Reload || forbids(why) {
			return here
		}
		if answer.Clause == "" {
			answer = here
		}
	}
	return answer
}

// acrossNamespaces are the meanings that can be about configs of other namespaces, and acrossClusters those about configs of other clusters.
var (
	acrossNamespaces = []Meaning{Ignore, IgnoreWorkload, ExcludeGlobs, ListedAcross, Globs}
	acrossClusters   = []Meaning{IgnoreWorkload, Follow}
)

// reaches reports whether c can be about a config that is where this one is, as seen from w.
func (c Clause) reaches(w *workload.Workload, config reloader.Config) bool {
	switch {
	case config.Cluster != "":
		return slices.Contains(acrossClusters, c.Meaning)
	case config.Namespace != w.Namespace:
		return slices.Contains(acrossNamespaces, c.Meaning)
	}
	return true
}

// Asks reports whether a clause that gives this reason demands a reload.
func Asks(why reloader.Reason) bool {
	switch why {
	case reloader.ReasonNamed, reloader.ReasonAuto, reloader.ReasonTypedAuto, reloader.ReasonSearch, reloader.ReasonFollowed, reloader.ReasonSelected:
		return true
	}
	return false
}

// forbids reports whether a clause that gives this reason overrules all that follow.
func forbids(why reloader.Reason) bool {
	return why == reloader.ReasonConfigIgnored || why == reloader.ReasonWorkloadIgnored || why == reloader.ReasonExcluded
}

// scope is what a dialect has to say about the configs of one kind for one workload.
type scope struct {
	dialect *Dialect
	w       *workload.Workload
	kind    reloader.ConfigKind
	// clauses are those about kind.
	clauses []Clause
	// triggers are the annotations in which clauses of OnWorkloadOrTemplate are read.
	triggers map[string]string
}

func (d *Dialect) scope(w *workload.Workload, kind reloader.ConfigKind) scope {
	s := scope{dialect: d, w: w, kind: kind, triggers: w.Template.Annotations}
	for _, c := range d.Clauses {
		if !c.covers(kind) {
			continue
		}
		s.clauses = append(s.clauses, c)
		if _, present := w.Annotations[c.Key]; present && c.Where == OnWorkloadOrTemplate {
			s.triggers = w.Annotations
		}
	}
	return s
}

// value returns what c says on the workload; empty if it is absent.
func (s scope) value(c Clause) string {
	switch c.Where {
	case OnWorkload:
		return s.w.Annotations[c.Key]
	case OnWorkloadOrTemplate:
		return s.triggers[c.Key]
	}
	return ""
}

// values returns what c says on each object that it is read on.
func (s scope) values(c Clause) []string {
	if c.Where == OnEither {
		return []string{s.w.Annotations[c.Key], s.w.Template.Annotations[c.Key]}
	}
	return []string{s.value(c)}
}

// any reports whether some clause of that meaning satisfies test.
func (s scope) any(m Meaning, test func(c Clause) bool) bool {
	for _, c := range s.clauses {
		if c.Meaning == m && test(c) {
			return true
		}
	}
	return false
}

// refers reports whether the workload's pod template refers to c in a way that the tool sees. A pull secret does not count in any dialect:
// a registry token that is refreshed twice a day would roll every workload that asks for its references. A list can name it.
func (s scope) refers(c reloader.Config) bool {
	r := s.w.Template.References[c]
	return r != nil && !r.OnlyPulls() && s.dialect.Sees(r)
}
