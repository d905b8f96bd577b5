package dialect

import (
	"slices"
	"strconv"

	"github.com/reroll-dev/reroll/reloader"
)

// Meaning is what a clause says.
type Meaning string

// The meanings.
const (
	// Ignore on a config, exactly "true": the config reloads nothing.
	Ignore Meaning = "ignore"
	// IgnoreWorkload on a workload, exactly "true": nothing reloads it.
	IgnoreWorkload Meaning = "ignore workload"
	// Exclude lists names of configs, separated by commas, that never reload the workload.
	Exclude Meaning = "exclude"
	// Named lists expressions, separated by commas; configs whose whole name matches one reload the workload, referenced or not.
	Named Meaning = "named"
	// Search, exactly "true": referenced configs that carry a Match clause reload the workload.
	Search Meaning = "search"
	// Match on a config, exactly "true": the config is found by Search.
	Match Meaning = "match"
	// Auto, a boolean: referenced configs reload the workload.
	Auto Meaning = "auto"
	// TypedAuto is Auto for one kind of config.
	TypedAuto Meaning = "typed auto"
	// AutoIfTrue, exactly "true": referenced configs reload the workload.
	AutoIfTrue Meaning = "auto if true"
	// Listed lists names, separated by commas; those configs of the workload's namespace reload it, referenced or not.
	Listed Meaning = "listed"
	// ListedAcross is Listed, perhaps with a namespace before a slash: it can name configs of other namespaces.
	ListedAcross Meaning = "listed across namespaces"
	// Globs is ListedAcross with * for any characters and ? for one.
	Globs Meaning = "globs"
	// ExcludeGlobs is Exclude with * for any characters and ? for one.
	ExcludeGlobs Meaning = "exclude globs"
	// Selected is a label selector; configs of the workload's namespace whose labels match reload it, referenced or not.
	Selected Meaning = "selected"
	// Follow lists configs of other clusters, separated by commas, that reload the workload. It
	// is about no others, and as to those of other clusters nothing but IgnoreWorkload overrules it here.
	Follow Meaning = "follow"
	// AutoUnlessSaid asks like Auto for every workload of which all Auto and TypedAuto clauses are absent or empty.
	AutoUnlessSaid Meaning = "auto unless said otherwise"
)

// exactlyTrue is the only value by which some clauses are switched on.
const exactlyTrue = "true"

// behaviour is how a meaning takes part. decide returns the reason it gives for a config, or none; plan, if there is one, notes
// the configs that decide could ask for.
type behaviour struct {
	decide func(s scope, c Clause, config ConfigMeta) reloader.Reason
	plan   func(s scope, c Clause, p *planner)
}

var meanings = map[Meaning]behaviour{
	Ignore:         {decide: decideIgnore},
	IgnoreWorkload: {decide: decideIgnoreWorkload},
	Exclude:        {decide: decideExclude, plan: planExclude},
	Named:          {decide: decideNamed, plan: planNamed},
	Search:         {decide: decideSearch, plan: planSearch},
	Match:          {decide: decideNothing},
	Auto:           {decide: decideAuto(reloader.ReasonAuto), plan: planAuto},
	TypedAuto:      {decide: decideAuto(reloader.ReasonTypedAuto), plan: planAuto},
	AutoIfTrue:     {decide: decideAutoIfTrue, plan: planAutoIfTrue},
	Listed:         {decide: decideListed(parseLocalNames), plan: planListed(parseLocalNames)},
	ListedAcross:   {decide: decideListed(parseNames), plan: planListed(parseNames)},
	Globs:          {decide: decideListed(parseGlobs), plan: planListed(parseGlobs)},
	ExcludeGlobs:   {decide: decideExcludeGlobs, plan: planExcludeGlobs},
	AutoUnlessSaid: {decide: decideUnlessSaid, plan: planUnlessSaid},
	Selected:       {decide: decideSelected, plan: planSelected},
	Follow:         {decide: decideFollow, plan: planFollow},
}

func decideNothing(scope, Clause, ConfigMeta) reloader.Reason { return "" }

func decideIgnore(_ scope, c Clause, config ConfigMeta) reloader.Reason {
	if config.Annotations[c.Key] == exactlyTrue {
		return reloader.ReasonConfigIgnored
	}
	return ""
}

func decideIgnoreWorkload(s scope, c Clause, _ ConfigMeta) reloader.Reason {
	if s.ignoresWorkload(c) {
		return reloader.ReasonWorkloadIgnored
	}
	return ""
}

func decideExclude(s scope, c Clause, config ConfigMeta) reloader.Reason {
	if s.excludes(c, config.Config.Name) {
		return reloader.ReasonExcluded
	}
	return ""
}

// excludes reports whether a clause that lists names has this one.
func (s scope) excludes(c Clause, name string) bool {
	return slices.ContainsFunc(s.excluded(c), func(e excluded) bool {
		_, has := e.names[name]
		return has
	})
}

// planExclude complains of a list that is too long. It does not opt in anybody.
func planExclude(s scope, c Clause, p *planner) {
	for _, e := range s.excluded(c) {
		if e.problem != "" {
			p.interest.Problems = append(p.interest.Problems, c.Key+": "+e.problem)
		}
	}
}

func decideNamed(s scope, c Clause, config ConfigMeta) reloader.Reason {
	if s.expressions(c).match(config.Config.Name) {
		return reloader.ReasonNamed
	}
	return ""
}

func planNamed(s scope, c Clause, p *planner) {
	list := s.expressions(c)
	for _, problem := range list.problems {
		p.problem(c, problem)
	}
	for _, i := range list.items {
		p.item(s, i)
	}
}

func decideSearch(s scope, c Clause, config ConfigMeta) reloader.Reason {
	if s.value(c) != exactlyTrue {
		return ""
	}
	marked := s.any(Match, func(m Clause) bool { return config.Annotations[m.Key] == exactlyTrue })
	switch {
	case !s.refers(config.Config):
		return reloader.ReasonNotReferenced
	case !marked:
		return reloader.ReasonConfigUnmarked
	}
	return reloader.ReasonSearch
}

func planSearch(s scope, c Clause, p *planner) {
	switch value := s.value(c); value {
	case exactlyTrue:
		p.references(s)
	case "", "false":
	default:
		p.value(c, value, trueOrFalse)
	}
}

func decideAuto(why reloader.Reason) func(scope, Clause, ConfigMeta) reloader.Reason {
	return func(s scope, c Clause, config ConfigMeta) reloader.Reason {
		on, _ := strconv.ParseBool(s.value(c))
		switch {
		case !on:
			return ""
		case !s.refers(config.Config):
			return reloader.ReasonNotReferenced
		}
		return why
	}
}

// trueOrFalse are the values of a switch.
const trueOrFalse = `"true" or "false"`

func planAuto(s scope, c Clause, p *planner) {
	value := s.value(c)
	on, err := strconv.ParseBool(value)
	switch {
	case on:
		p.references(s)
	case err != nil && value != "":
		p.value(c, value, trueOrFalse)
	}
}

// said reports whether the workload says anything, yes or no, about reloading automatically.
func said(s scope) bool {
	speaks := func(c Clause) bool { return s.value(c) != "" }
	return s.any(Auto, speaks) || s.any(TypedAuto, speaks)
}

func decideUnlessSaid(s scope, _ Clause, config ConfigMeta) reloader.Reason {
	switch {
	case said(s):
		return ""
	case !s.refers(config.Config):
		return reloader.ReasonNotReferenced
	}
	return reloader.ReasonAuto
}

// planUnlessSaid does not by itself opt in a workload that refers to nothing.
func planUnlessSaid(s scope, _ Clause, p *planner) {
	if !said(s) && len(s.referenced()) > 0 {
		p.references(s)
	}
}
