package dialect

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Interest is every config that could make one workload reload, and what is wrong with the workload's annotations.
type Interest struct {
	// Dialect is the name of the dialect whose annotations say so.
	Dialect string
	// Namespace is the workload's: all configs that a pattern matches are in it, and in the workload's cluster.
	Namespace string
	// Exact are the configs that are known by name, sorted, MaxConfigs at most; they need not exist.
	Exact []reloader.Config
	// Patterns are the expressions that configs can match besides.
	Patterns []Pattern
	// Problems are faults of the annotations, each with the key; what they say about a list item holds for that item alone.
	Problems []string
}

// Pattern finds configs of one kind in one namespace of the workload's cluster.
type Pattern struct {
	Kind      reloader.ConfigKind
	Namespace string
	item      item
}

// Match reports whether the pattern matches the whole of name. A label selector matches every name: Decide looks at the labels.
func (p Pattern) Match(name string) bool { return p.item.match(name) }

// String returns the expression as the workload's annotation has it.
func (p Pattern) String() string { return p.item.text }

// Wants reports whether a change of c could make the workload reload.
func (i Interest) Wants(c reloader.Config) bool {
	return slices.Contains(i.Exact, c) || c.Cluster == "" && c.Namespace == i.Namespace && slices.ContainsFunc(i.Patterns, func(p Pattern) bool {
		return p.Kind == c.Kind && p.Match(c.Name)
	})
}

// Interest says which configs could make w reload, and whether w is opted in at all: whether any clause asks for something, or is
// too faulty to tell. Configs that w excludes by name are left out.
func (d *Dialect) Interest(w *workload.Workload) (Interest, bool) {
	if !d.speaks(w) {
		return Interest{}, false
	}
	p := planner{interest: Interest{Dialect: d.Name, Namespace: w.Namespace}}
	for _, kind := range reloader.ConfigKinds {
		s := d.scope(w, kind)
		for _, c := range s.clauses {
			if s.ignoresWorkload(c) {
				return Interest{}, false
			}
			if plan := meanings[c.Meaning].plan; plan != nil {
				plan(s, c, &p)
			}
		}
	}
	p.interest.Problems = append(p.interest.Problems, d.Choices.problems(w)...)
	if d.Faults != nil {
		p.interest.Problems = append(p.interest.Problems, d.Faults(w)...)
	}
	return p.finish(), p.optedIn
}

// silences reports whether w carries an annotation by which the dialect ignores it.
func (d *Dialect) silences(w *workload.Workload) bool {
	return slices.ContainsFunc(reloader.ConfigKinds, func(kind reloader.ConfigKind) bool {
		s := d.scope(w, kind)
		return slices.ContainsFunc(s.clauses, s.ignoresWorkload)
	})
}

func (s scope) ignoresWorkload(c Clause) bool {
	return c.Meaning == IgnoreWorkload && slices.Contains(s.values(c), exactlyTrue)
}

// planner gathers an Interest.
type planner struct {
	interest Interest
	optedIn  bool
}

func (p *planner) problem(c Clause, text string) {
	p.optedIn = true
	p.interest.Problems = append(p.interest.Problems, c.Key+": "+text)
}

// value notes that the value of a switch means nothing.
func (p *planner) value(c Clause, value, use string) {
	p.optedIn = true
	p.interest.Problems = append(p.interest.Problems, fmt.Sprintf("%s is %.40q; use %s", c.Key, value, use))
}

// item notes a config that is listed, or a pattern.
func (p *planner) item(s scope, i item) {
	p.optedIn = true
	if i.couldBeName() {
		p.exact(s, reloader.Config{Kind: s.kind, Namespace: s.w.Namespace, Name: i.text})
	}
	if i.expression != nil {
		p.interest.Patterns = append(p.interest.Patterns, Pattern{Kind: s.kind, Namespace: s.w.Namespace, item: i})
	}
}

// references notes every config that the workload refers to.
func (p *planner) references(s scope) {
	p.optedIn = true
	for _, c := range s.referenced() {
		p.exact(s, c)
	}
}

// exact notes a config that is known by name. Exclusions are about the workload's own cluster.
func (p *planner) exact(s scope, c reloader.Config) {
	excluded := c.Cluster == "" && (s.any(Exclude, func(e Clause) bool { return s.excludes(e, c.Name) }) ||
		s.any(ExcludeGlobs, func(e Clause) bool { return s.excludesGlob(e, c) }))
	if !excluded && c.Validate() == nil {
		p.interest.Exact = append(p.interest.Exact, c)
	}
}

func (p *planner) finish() Interest {
	p.interest.Exact = sortedConfigs(p.interest.Exact)
	slices.Sort(p.interest.Problems)
	p.interest.Problems = slices.Compact(p.interest.Problems)
	return p.interest.bounded()
}

// referenced returns the configs of the scope's kind that the workload refers to.
func (s scope) referenced() []reloader.Config {
	var out []reloader.Config
	for c := range s.w.Template.References {
		if c.Kind == s.kind && s.refers(c) {
			out = append(out, c)
		}
	}
	return out
}

func sortedConfigs(configs []reloader.Config) []reloader.Config {
	slices.SortFunc(configs, func(a, b reloader.Config) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(configs)
}
