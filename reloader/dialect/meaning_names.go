package dialect

import (
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
)

// ShareKey is the annotation by which the owner of a config lets workloads of other namespaces, listed with commas, or of all, *, reload
// for it.
const ShareKey = OwnPrefix + "share-with"

// sharedWith reports whether the config may reload workloads of a namespace other than its own.
func sharedWith(c ConfigMeta, namespace string) bool {
	list := c.Annotations[ShareKey]
	return strings.TrimSpace(list) == "*" || listsLiterally(list, namespace)
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
		case config.Config.Namespace != s.w.Namespace && !sharedWith(config, s.w.Namespace):
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
			p.interest.Patterns = append(p.interest.Patterns, Pattern{Kind: s.kind, item: item{text: n.config.Name, expression: n.glob}})
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

func decideAutoIf(on string) func(scope, Clause, ConfigMeta) reloader.Reason {
	return func(s scope, c Clause, config ConfigMeta) reloader.Reason {
		switch {
		case s.value(c) != on:
			return ""
		case !s.refers(config.Config):
			return reloader.ReasonNotReferenced
		}
		return reloader.ReasonAuto
	}
}

func planAutoIf(on string) func(scope, Clause, *planner) {
	return func(s scope, c Clause, p *planner) {
		switch value := s.value(c); value {
		case on:
			p.references(s)
		case "", "false", "disabled":
		default:
			p.problem(c, fmt.Sprintf("%.40q is not %q, the only word that turns it on", value, on))
		}
	}
}
