package dialect

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// decide returns the reason that the dialect gives for a config, and the key of the clause. The first clause that asks or forbids wins; if none
// does, the first that came close gives the reason. A config of another namespace reloads w only if a list names it with its namespace, and the
// config says that it may: otherwise the answer is that for a config that does not exist. One of another cluster reloads w only if w follows it.
func (p *part) decide(c ConfigMeta) (why reloader.Reason, clause string) {
	if !c.ShowsTo(p.workload.Namespace) {
		c = ConfigMeta{Config: c.Config}
	}
	if c.Unselected && c.Config.Cluster == "" && c.Config.Namespace == p.workload.Namespace {
		return reloader.ReasonUnselected, ""
	}
	answer, by := reloader.ReasonNotOptedIn, ""
	for i := range p.rules {
		r := &p.rules[i]
		if !r.kinds.has(c.Config.Kind) || !r.reaches(p.workload, c.Config) {
			continue
		}
		switch why := p.reason(r, c); {
		case why == "":
		case Asks(why) || why == reloader.ReasonIgnored:
			return why, r.Key
		case by == "":
			answer, by = why, r.Key
		}
	}
	return answer, by
}

// reason returns the reason that a rule gives for a config; empty if it gives none.
func (p *part) reason(r *rule, c ConfigMeta) reloader.Reason {
	switch r.Do {
	case Ignore:
		if r.On != OnConfig || c.Annotations[r.Key] == exactlyTrue {
			return reloader.ReasonIgnored
		}
	case Forbid:
		if r.list.match(c.Config) {
			return reloader.ReasonIgnored
		}
	case Search, AskReferenced:
		return p.referenceReason(r, c)
	case Ask:
		switch {
		case r.As == Selector && !r.selector.Matches(labels.Set(c.Labels)):
			return reloader.ReasonUnselected
		case r.As != Selector && !r.list.match(c.Config):
			return ""
		case !c.ShowsTo(p.workload.Namespace):
			return reloader.ReasonNotShared
		}
		return reloader.ReasonNamed
	}
	return ""
}

// referenceReason is reason for a rule that asks for referenced configs.
func (p *part) referenceReason(r *rule, c ConfigMeta) reloader.Reason {
	switch {
	case r.On == OnConfig:
		return ""
	case !p.dialect.countsAsReference(p.workload, c.Config):
		return reloader.ReasonNotReferenced
	case r.Do == AskReferenced:
		return reloader.ReasonAuto
	}
	found := func(o rule) bool {
		return o.Do == Search && o.On == OnConfig && o.kinds.has(c.Config.Kind) && c.Annotations[o.Key] == exactlyTrue
	}
	if !slices.ContainsFunc(p.rules, found) {
		return reloader.ReasonUnselected
	}
	return reloader.ReasonSearch
}

// reaches reports whether c can decide about configs of the cluster and namespace of this one.
func (c *Clause) reaches(w *workload.Workload, config reloader.Config) bool {
	switch {
	case config.Cluster != "":
		return c.As == Followed || c.Do == Ignore && c.On != OnConfig
	case config.Namespace != w.Namespace:
		return c.Do == Ignore || c.As == NamesAcross || c.As == Globs || c.As == Followed
	}
	return true
}

// Asks reports whether a clause that gives this reason demands a reload.
func Asks(why reloader.Reason) bool {
	return why == reloader.ReasonNamed || why == reloader.ReasonAuto || why == reloader.ReasonSearch
}
