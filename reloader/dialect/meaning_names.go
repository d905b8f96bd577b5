package dialect

import (
	"strconv"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// ShareKey is the annotation by which the owner of a config lets workloads of other namespaces, listed with commas, or of all, *, reload
// for it.
const ShareKey = OwnPrefix + "share-with"

// sharedWith reports whether workloads of a namespace may know anything of c: it is their own, or c says that they may.
func sharedWith(c ConfigMeta, namespace string) bool {
	list := c.Annotations[ShareKey]
	return c.Config.Namespace == namespace || strings.TrimSpace(list) == "*" || listsLiterally(list, namespace)
}

// ShowsTo reports whether workloads of a namespace may know anything of the config. One of another cluster is known by what its owner
// sends, who has asked for the consent already.
func (c ConfigMeta) ShowsTo(namespace string) bool {
	return c.Config.Cluster != "" || sharedWith(c, namespace)
}

// shownTo returns what a workload may know of c: its name alone, as of one that does not exist, unless c is shown to the workload's namespace.
func (c ConfigMeta) shownTo(w *workload.Workload) ConfigMeta {
	if c.ShowsTo(w.Namespace) {
		return c
	}
	return ConfigMeta{Config: c.Config}
}

func decideListed(parse nameParser) func(scope, Clause, ConfigMeta) reloader.Reason {
	return func(s scope, c Clause, config ConfigMeta) reloader.Reason {
		value := s.value(c)
		if value == "" {
			return ""
		}
		switch {
		case !listedOn(s.w, c.Key, value, s.kind, parse).match(config.Config):
			return ""
		case !sharedWith(config, s.w.Namespace):
			return reloader.ReasonNotShared
		}
		return reloader.ReasonNamed
	}
}

func planListed(parse nameParser) func(scope, Clause, *planner) {
	return func(s scope, c Clause, p *planner) {
		list := listedOn(s.w, c.Key, s.value(c), s.kind, parse)
		for _, problem := range list.problems {
			p.problem(c, problem)
		}
		for _, n := range list.names {
			p.optedIn = true
			if n.glob == nil {
				p.exact(s, n.config)
				continue
			}
			p.interest.Patterns = append(p.interest.Patterns, Pattern{Kind: s.kind, Namespace: s.w.Namespace, item: item{text: n.config.Name, expression: n.glob}})
		}
	}
}

func decideExcludeGlobs(s scope, c Clause, config ConfigMeta) reloader.Reason {
	if s.excludesGlob(c, config.Config) {
		return reloader.ReasonExcluded
	}
	return ""
}

// planExcludeGlobs complains of what is wrong with the list. It does not opt in anybody.
func planExcludeGlobs(s scope, c Clause, p *planner) {
	for _, problem := range listedOn(s.w, c.Key, s.value(c), s.kind, parseGlobs).problems {
		p.interest.Problems = append(p.interest.Problems, c.Key+": "+problem)
	}
}

// excludesGlob reports whether a clause that lists globs has one that matches config.
func (s scope) excludesGlob(c Clause, config reloader.Config) bool {
	value := s.value(c)
	if value == "" {
		return false
	}
	return listedOn(s.w, c.Key, value, s.kind, parseGlobs).match(config)
}

func decideAutoIfTrue(s scope, c Clause, config ConfigMeta) reloader.Reason {
	switch {
	case s.value(c) != exactlyTrue:
		return ""
	case !s.refers(config.Config):
		return reloader.ReasonNotReferenced
	}
	return reloader.ReasonAuto
}

func planAutoIfTrue(s scope, c Clause, p *planner) {
	switch value := s.value(c); value {
	case exactlyTrue:
		p.references(s)
	case "", "false":
	default:
		p.value(c, value, strconv.Quote(exactlyTrue))
	}
}
