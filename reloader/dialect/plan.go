package dialect

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	// MaxConfigs bounds the configs that one workload depends on: those that it names, those that its patterns match, and those that its pod
	// template refers to, together.
	MaxConfigs = 1000
	// maxProblems bounds the Problems of one workload.
	maxProblems = 32
)

// Plan is what the annotations of one version of a workload say, worked out once. It is never changed and may be shared by goroutines. It depends on
// the kind, labels, annotations and pod template of the workload, and on nothing else: a version that differs in its status has the same Plan.
type Plan struct {
	// Workload is the version that the Plan was compiled from.
	Workload *workload.Workload
	// Enabled are the dialects that the workload is opted in to, most important first: those with an annotation that asks for something, or
	// that is too faulty to read. If there are none, no config reloads the workload, and there are no Names and Patterns.
	Enabled []*Dialect
	// Names are the configs that are known by name and may reload the workload, because it lists, refers to or follows them. They are sorted,
	// MaxConfigs at most, without those that the same dialect excludes, and need not exist.
	Names []reloader.Config
	// Patterns find more configs that may reload the workload, among all of a kind and namespace.
	Patterns []Pattern
	// Problems are the faults of the annotations, each beginning with the annotation's key: those of the Enabled dialects, and those of Reroll's
	// own annotations also if the workload is not opted in. A fault of a list item affects that item alone.
	Problems []string
	// Chosen is what the annotations choose apart from the configs. It holds whether the workload is opted in or not.
	Chosen Chosen

	parts []*part
}

// Pattern finds configs of one kind in one namespace of the workload's cluster.
type Pattern struct {
	Kind      reloader.ConfigKind
	Namespace string
	// Clause is the key of the annotation.
	Clause   string
	text     string
	matches  func(name string) bool
	selector labels.Selector
}

// Match reports whether the pattern matches the whole of name. A label selector matches every name: Decide looks at the labels.
func (p Pattern) Match(name string) bool { return p.matches(name) }

// String returns the expression or selector as the workload's annotation has it.
func (p Pattern) String() string { return p.text }

// Same reports whether two patterns of workloads of one namespace find the same.
func (p Pattern) Same(o Pattern) bool { return p.Kind == o.Kind && p.text == o.text }

// Decision is the answer for one workload and one config.
type Decision struct {
	// Reload says that a change of the config rolls the workload. The fields below Clause are zero unless it does.
	Reload bool
	// Dialect is the name of the first dialect that asks or, if none does, of the one that gives the reason; empty if none gives any.
	Dialect string
	// Why is the reason, also for a no.
	Why reloader.Reason
	// Clause is the key that decided; empty if none did.
	Clause string
	// Marks are the dialects whose marks must be written for the config: all that ask, the first of those that write the same mark.
	Marks []*Dialect
	// Created and Deleted say that the creation and the deletion of the config count as changes. Every other change of its counting keys does.
	Created, Deleted bool
	// Waits says that the workload must not be rolled while a config or key is missing without which none of its pods starts.
	Waits bool
	// UsedKeys says that no keys count but those that the pod template uses.
	UsedKeys bool
	// Counts reports whether a key of the config counts, by Chosen.Keys and UsedKeys; nil if every key does.
	Counts func(key string) bool
}

// Compile works out what the annotations of w and its pod template say. It takes time and memory within fixed bounds, whatever they say.
func (s Set) Compile(w *workload.Workload) Plan {
	p := Plan{Workload: w}
	for _, d := range s {
		o := d.compile(w)
		for _, choice := range d.Choices {
			if problem := choice.read(w, &p.Chosen); problem != "" && o != nil {
				o.problems = append(o.problems, problem)
			}
		}
		if o != nil {
			slices.Sort(o.problems)
			o.problems = slices.Compact(o.problems)
			p.parts = append(p.parts, o)
		}
	}
	p.join()
	return p
}

// join gathers what the parts say together. It says nothing if a dialect that overrules the others ignores the workload.
func (p *Plan) join() {
	var faults []string
	for _, o := range p.parts {
		switch {
		case o.ignored && o.dialect.Overrules:
			p.Enabled, p.Names, p.Patterns, p.Problems = nil, nil, nil, nil
			return
		case o.ignored:
		case o.optedIn:
			p.Enabled = append(p.Enabled, o.dialect)
			if p.Names == nil {
				p.Names = o.names // most workloads ask for configs in the words of one dialect
			} else {
				p.Names = sortedNames(append(p.Names, o.names...))
			}
			p.Patterns = append(p.Patterns, o.patterns...)
			p.Problems = append(p.Problems, o.problems...)
		case o.dialect.Overrules:
			faults = append(faults, o.problems...) // its choices hold for the others
		}
	}
	p.Problems = append(p.Problems, faults...)
	if n := len(p.Names); n > MaxConfigs {
		p.Problems = slices.Insert(p.Problems, 0, fmt.Sprintf("dependencies: the workload names or references %d configs, more than %d; %s and those after it in alphabetical order roll nothing",
			n, MaxConfigs, p.Names[MaxConfigs]))
		p.Names = slices.Clip(p.Names[:MaxConfigs])
	}
	if n := len(p.Problems); n > maxProblems {
		p.Problems = append(slices.Clip(p.Problems[:maxProblems]), fmt.Sprintf("and %d more problems", n-maxProblems))
	}
}

// sortedNames returns names in order, each once, without room for more.
func sortedNames(names []reloader.Config) []reloader.Config {
	slices.SortFunc(names, reloader.Config.Compare)
	return slices.Clip(slices.Compact(names))
}

// OptedIn reports whether the workload is opted in to any dialect.
func (p *Plan) OptedIn() bool { return len(p.Enabled) > 0 }

// Only returns the plan of one dialect alone, without what the others ask and forbid. A joint mark is made of its Names.
func (p *Plan) Only(d *Dialect) Plan {
	only := Plan{Workload: p.Workload, Chosen: p.Chosen}
	if i := slices.IndexFunc(p.parts, func(o *part) bool { return o.dialect == d }); i >= 0 {
		only.parts = p.parts[i : i+1]
		only.join()
	}
	return only
}

// Dialect returns the name of the first of Enabled; empty if there is none.
func (p *Plan) Dialect() string {
	if len(p.Enabled) == 0 {
		return ""
	}
	return p.Enabled[0].Name
}

// Matches reports whether c is one of Names or found by one of Patterns. Decide asks for no config that Matches does not report, except those
// beyond MaxConfigs.
func (p *Plan) Matches(c reloader.Config) bool {
	return slices.Contains(p.Names, c) || c.Cluster == "" && slices.ContainsFunc(p.Patterns, func(o Pattern) bool {
		return o.Kind == c.Kind && o.Namespace == c.Namespace && o.Match(c.Name)
	})
}

// Optional reports whether pods of the workload start without c: its template has no reference that requires c.
func (p *Plan) Optional(c reloader.Config) bool {
	r := p.Workload.Template.References.Get(c)
	return r == nil || !r.Required
}

// Shows reports whether the workload may know anything of c. A config of its own namespace it may. One of another namespace must name that namespace
// in ShareKey, or its own cluster in FollowersKey. Ask before its content is read: a workload must learn no more of a config that is not shown than of
// one that does not exist.
func (p *Plan) Shows(c ConfigMeta) bool { return c.ShowsTo(p.Workload.Namespace) }

// Decide says whether a change of c reloads the workload, and what counts as one. Of an absent config the ConfigMeta has the name alone. However many
// dialects ask, there is one answer: the first that asks decides, unless Reroll's own dialect forbids it; if none asks, the first that knows more than
// that the workload is not opted in gives the reason.
func (p *Plan) Decide(c ConfigMeta) Decision {
	d := p.decide(c)
	if d.Reload {
		keys := p.Chosen.Keys
		if d.UsedKeys {
			keys = keys.OnlyUsed()
		}
		var uses []reloader.Use
		if r := p.Workload.Template.References.Get(c.Config); r != nil {
			uses = r.Uses
		}
		d.Counts = keys.Filter(uses)
	}
	return d
}

// decide is Decide without Counts.
func (p *Plan) decide(c ConfigMeta) Decision {
	answer, asked := Decision{Why: reloader.ReasonNotOptedIn}, Decision{UsedKeys: true}
	for _, o := range p.parts {
		why, clause := o.decide(c)
		switch {
		case Asks(why):
			asked.ask(o, why, clause, c.Config)
		case why == reloader.ReasonIgnored && o.dialect.Overrules:
			return Decision{Dialect: o.dialect.Name, Why: why, Clause: clause}
		case answer.Why == reloader.ReasonNotOptedIn && why != answer.Why:
			answer = Decision{Dialect: o.dialect.Name, Why: why, Clause: clause}
		}
	}
	if asked.Reload {
		return asked
	}
	return answer
}

// ask adds the demand of one dialect to d.
func (d *Decision) ask(o *part, why reloader.Reason, clause string, c reloader.Config) {
	if !d.Reload {
		d.Reload, d.Dialect, d.Why, d.Clause = true, o.dialect.Name, why, clause
	}
	of := o.dialect
	if !slices.ContainsFunc(d.Marks, func(m *Dialect) bool { return m.Mark.Name == of.Mark.Name }) {
		d.Marks = append(d.Marks, of)
	}
	d.Created = d.Created || of.OnCreate
	d.Deleted = d.Deleted || of.OnDelete || of.Optional != nil && of.Optional(o.workload, c)
	d.Waits = d.Waits || of.Waits
	d.UsedKeys = d.UsedKeys && of.Joint != nil && of.Joint.OnlyUsed != nil && of.Joint.OnlyUsed(o.workload, c)
}
