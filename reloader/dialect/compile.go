package dialect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// part is what the annotations of one workload say to one dialect.
type part struct {
	dialect  *Dialect
	workload *workload.Workload
	// rules are the clauses that can decide about a config, in their order.
	rules []rule
	// valued are the kinds of config with a value of a clause of AskReferenced, even a false one.
	valued           kindSet
	optedIn, ignored bool
	names            []reloader.Config
	patterns         []Pattern
	problems         []string
}

// rule is a clause with the value that it has on a workload, ready to decide.
type rule struct {
	*Clause
	kinds kindSet
	// list is that of the value; nil if that is none.
	list     *list
	selector labels.Selector
}

// kindSet is a set of kinds of config, with a bit for each of reloader.ConfigKinds.
type kindSet uint8

var everyKind = kindsOf(reloader.ConfigKinds...)

func kindsOf(kinds ...reloader.ConfigKind) kindSet {
	var set kindSet
	for i, kind := range reloader.ConfigKinds {
		if slices.Contains(kinds, kind) {
			set |= 1 << i
		}
	}
	return set
}

func (s kindSet) has(kind reloader.ConfigKind) bool { return s&kindsOf(kind) != 0 }

// each calls f for each kind of the set.
func (s kindSet) each(f func(kind reloader.ConfigKind)) {
	for _, kind := range reloader.ConfigKinds {
		if s.has(kind) {
			f(kind)
		}
	}
}

// compile reads the clauses of d on w. It returns nil if d does not apply to w.
func (d *Dialect) compile(w *workload.Workload) *part {
	if !d.applies(w) {
		return nil
	}
	p := &part{dialect: d, workload: w}
	onWorkload := d.onWorkload(w)
	for i := range d.Clauses {
		c := &d.Clauses[i]
		kinds := d.kinds(c)
		switch c.On {
		case OnConfig:
			p.rules = append(p.rules, rule{Clause: c, kinds: kinds})
		case OnWorkload:
			p.read(c, kinds, w.Annotations[c.Key])
		case OnEither:
			p.read(c, kinds, w.Annotations[c.Key])
			p.read(c, kinds, w.Template.Annotations[c.Key])
		case OnWorkloadElseTemplate:
			p.read(c, kinds&onWorkload, w.Annotations[c.Key])
			p.read(c, kinds&^onWorkload, w.Template.Annotations[c.Key])
		case OnInstallation:
			p.rules = append(p.rules, rule{Clause: c, kinds: kinds &^ p.valued})
		}
	}
	for i := range p.rules {
		p.gather(&p.rules[i])
	}
	if d.Faults != nil {
		p.problems = append(p.problems, d.Faults(w)...)
	}
	p.names, p.rules = sortedNames(p.names), slices.Clone(p.rules) // a Plan is kept for as long as its workload
	return p
}

// kinds returns the kinds of config that a clause is about.
func (d *Dialect) kinds(c *Clause) kindSet {
	kinds := everyKind
	if c.Kinds != nil {
		kinds = kindsOf(c.Kinds...)
	}
	return kinds &^ kindsOf(d.Without...)
}

// onWorkload returns the kinds of config whose clauses of OnWorkloadElseTemplate are read on w, and not on its pod template.
func (d *Dialect) onWorkload(w *workload.Workload) kindSet {
	var kinds kindSet
	for i := range d.Clauses {
		c := &d.Clauses[i]
		if _, present := w.Annotations[c.Key]; present && c.On == OnWorkloadElseTemplate {
			kinds |= d.kinds(c)
		}
	}
	return kinds
}

// read adds the rule that a clause with a value makes for some kinds of config, if it makes one.
func (p *part) read(c *Clause, kinds kindSet, value string) {
	if value == "" || kinds == 0 {
		return
	}
	r := rule{Clause: c, kinds: kinds}
	switch c.As {
	case True, Bool:
		on, err := value == exactlyTrue, error(nil)
		if c.As == Bool {
			on, err = strconv.ParseBool(value)
		}
		if c.Do == AskReferenced {
			p.valued |= kinds
		}
		if err != nil || c.As == True && !on && value != "false" && c.Do != Ignore {
			p.fault(c, fmt.Sprintf(`%s is %.40q; use "true" or "false"`, c.Key, value))
		}
		if !on {
			return
		}
		p.ignored = p.ignored || c.Do == Ignore
	case Selector:
		selector, err := parseSelector(value)
		if err != nil {
			p.fault(c, c.Key+": "+err.Error()+"; it selects nothing")
			return
		}
		r.selector = selector
	default:
		r.list = readList(c.As, value, p.workload.Namespace, p.dialect.Home)
		for _, problem := range r.list.problems {
			p.fault(c, c.Key+": "+problem)
		}
	}
	p.rules = append(p.rules, r)
}

// fault adds a Problem. A faulty value that may ask for something opts the workload in, so that the Problem is visible.
func (p *part) fault(c *Clause, problem string) {
	p.optedIn = p.optedIn || c.Do != Forbid
	p.problems = append(p.problems, problem)
}

// gather adds the configs that a rule can ask for.
func (p *part) gather(r *rule) {
	switch {
	case r.On == OnConfig:
	case r.Do == AskReferenced || r.Do == Search:
		// OnInstallation does not opt in a workload that refers to nothing.
		p.optedIn = p.optedIn || r.On != OnInstallation
		for c := range p.workload.Template.References.All() {
			if r.kinds.has(c.Kind) && p.dialect.countsAsReference(p.workload, c) {
				p.name(c)
			}
		}
	case r.Do == Ask && r.As == Selector:
		r.kinds.each(func(kind reloader.ConfigKind) {
			p.pattern(Pattern{
				Kind: kind, Clause: r.Key, text: strings.ToLower(string(kind)) + "s with " + r.selector.String(), matches: func(string) bool { return true }, selector: r.selector,
			})
		})
	case r.Do == Ask:
		r.configs(p.name)
		for _, o := range r.list.patterns {
			r.kinds.each(func(kind reloader.ConfigKind) {
				p.pattern(Pattern{Kind: kind, Clause: r.Key, text: o.text, matches: o.match})
			})
		}
	}
}

// configs calls f for every config that the list of r names.
func (r *rule) configs(f func(c reloader.Config)) {
	if r.list == nil {
		return
	}
	for c := range r.list.names {
		r.kinds.each(func(kind reloader.ConfigKind) {
			if c.Kind == "" || c.Kind == kind {
				f(reloader.Config{Cluster: c.Cluster, Kind: kind, Namespace: c.Namespace, Name: c.Name})
			}
		})
	}
}

// name adds a config that the workload asks for by name, unless the name is invalid or excluded. Exclusions apply to the workload's own cluster.
func (p *part) name(c reloader.Config) {
	p.optedIn = true
	excludes := func(r rule) bool { return r.Do == Forbid && r.kinds.has(c.Kind) && r.list.match(c) }
	if (c.Cluster != "" || !slices.ContainsFunc(p.rules, excludes)) && c.Validate() == nil {
		p.names = append(p.names, c)
	}
}

func (p *part) pattern(o Pattern) {
	p.optedIn = true
	o.Namespace = p.workload.Namespace
	p.patterns = append(p.patterns, o)
}
