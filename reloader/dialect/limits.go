package dialect

import (
	"fmt"
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Limits on what one workload can ask for. Whatever lies beyond them is left out, with a Problem, and holds up nobody else.
const (
	// MaxConfigs bounds the configs that one workload depends on: those that it names, those that its patterns match, and those that its pod
	// template refers to, together.
	MaxConfigs = 1000
	// maxNames bounds the plain names of one list.
	maxNames = MaxConfigs
	// maxExcluded bounds the names of one list of configs that never reload the workload.
	maxExcluded = 10_000
	// maxProblems bounds the Problems of one workload.
	maxProblems = 32
)

// bounded returns i with no more configs and Problems than the limits allow.
func (i Interest) bounded() Interest {
	if n := len(i.Exact); n > MaxConfigs {
		i.Problems = append([]string{fmt.Sprintf("dependencies: the workload names, or refers to, %d configs, more than %d; those from %s on, in the order of the alphabet, reload nothing",
			n, MaxConfigs, i.Exact[MaxConfigs])}, i.Problems...)
		i.Exact = slices.Clip(i.Exact[:MaxConfigs])
	}
	if n := len(i.Problems); n > maxProblems {
		i.Problems = append(slices.Clone(i.Problems[:maxProblems]), fmt.Sprintf("and %d more problems", n-maxProblems))
	}
	return i
}

// use names a clause on a workload as the text that is parsed for configs of one kind; place tells apart the objects on which it is read.
type use struct {
	clause string
	kind   reloader.ConfigKind
	place  int
}

// expressions are a list of expressions, ready to be matched.
type expressions struct {
	// names has those that match nothing but themselves, and others the rest.
	names    map[string]struct{}
	others   []item
	items    []item
	problems []string
}

func (s scope) expressions(c Clause) expressions {
	return workload.Parse(s.w, use{c.Key, s.kind, 0}, s.value(c), func(text string) expressions {
		e := expressions{names: map[string]struct{}{}}
		e.items, e.problems = parseList(text)
		for _, i := range e.items {
			if i.expression == nil {
				e.names[i.text] = struct{}{}
			} else {
				e.others = append(e.others, i)
			}
		}
		return e
	})
}

func (e expressions) match(name string) bool {
	_, listed := e.names[name]
	return listed || slices.ContainsFunc(e.others, func(i item) bool { return i.match(name) })
}

// excluded are the names that a list excludes.
type excluded struct {
	names   map[string]struct{}
	problem string
}

func (s scope) excluded(c Clause) []excluded {
	var found []excluded
	for place, text := range s.values(c) {
		found = append(found, workload.Parse(s.w, use{c.Key, s.kind, place}, text, parseExcluded))
	}
	return found
}

// listed are the names and globs of a list.
type listed struct {
	exact    map[reloader.Config]struct{}
	globs    []name
	names    []name
	problems []string
}

// listed returns a list of names on w under a key, as parse reads it for configs of a kind.
func listedOn(w *workload.Workload, key, text string, kind reloader.ConfigKind, parse nameParser) listed {
	return workload.Parse(w, use{key, kind, 0}, text, func(text string) listed {
		l := listed{exact: map[reloader.Config]struct{}{}}
		l.names, l.problems = parse(text, kind, w.Namespace)
		for _, n := range l.names {
			if n.glob == nil {
				l.exact[n.config] = struct{}{}
			} else {
				l.globs = append(l.globs, n)
			}
		}
		return l
	})
}

func (l listed) match(c reloader.Config) bool {
	_, named := l.exact[c]
	return named || slices.ContainsFunc(l.globs, func(n name) bool { return n.match(c) })
}
