package dialect

import (
	"fmt"
	"slices"
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
		names, _ := parse(value, s.kind, s.w.Namespace)
		switch {
		case !slices.ContainsFunc(names, func(n name) bool { return n.match(config.Config) }):
			return ""
		case config.Config.Namespace != s.w.Namespace && !sharedWith(config, s.w.Namespace):
			return reloader.ReasonNotShared
		}
		return reloader.ReasonNamed
	}
}

func planListed(parse nameParser) func(scope, Clause, *planner) {
	return func(s scope, c Clause, p *planner) {
		names, problems := parse(s.value(c), s.kind, s.w.Namespace)
		for _, problem := range problems {
			p.problem(c, problem)
		}
		for _, n := range names {
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
	_, problems := parseGlobs(s.value(c), s.kind, s.w.Namespace)
	for _, problem := range problems {
		p.interest.Problems = append(p.interest.Problems, c.Key+": "+problem)
	}
}

// excludesGlob reports whether a clause that lists globs has one that matches config.
func (s scope) excludesGlob(c Clause, config reloader.Config) bool {
	value := s.value(c)
	if value == "" {
		return false
	}
	names, _ := parseGlobs(value, s.kind, s.w.Namespace)
	return slices.ContainsFunc(names, func(n name) bool { return n.match(config) })
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
