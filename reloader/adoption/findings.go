package adoption

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/near"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// sight is one workload with all that was read for it.
type sight struct {
	View
	w     *workload.Workload
	read  map[reloader.Config]Known
	names Names
}

// maxNamed bounds how many configs one finding names.
const maxNamed = 5

// configs returns those that were read and could be, in their order.
func (s sight) configs() []reloader.Config {
	var found []reloader.Config
	for c, k := range s.read {
		if k.Fault == "" {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b reloader.Config) int { return strings.Compare(a.String(), b.String()) })
	return found
}

// voices returns what all clauses of all dialects that are read say about one config.
func (s sight) voices(c reloader.Config) []dialect.Decision {
	var found []dialect.Decision
	for _, d := range s.Dialects {
		found = append(found, d.Voices(s.w, metaOf(c, s.read[c]))...)
	}
	return found
}

// asking returns the names of the dialects by which some config rolls the workload.
func (s sight) asking() []string {
	asking := map[string]bool{}
	for c, k := range s.read {
		for _, d := range s.Dialects {
			if decided := s.Dialects.Decide(s.w, metaOf(c, k)); decided.Reload && d.Decide(s.w, metaOf(c, k)).Reload {
				asking[d.Name] = true
			}
		}
	}
	var names []string
	for _, name := range s.Dialects.Names() {
		if asking[name] {
			names = append(names, name)
		}
	}
	return names
}

// tools finds that several tools look after the workload.
func (s sight) tools() []Finding {
	names := slices.DeleteFunc(s.asking(), func(name string) bool { return name == "reroll" })
	if len(names) < 2 {
		return nil
	}
	return []Finding{{
		Conflict, strings.Join(names, " and ") + " look after it: each of the tools rolls it for itself, and Reroll makes one decision and one roll, and writes the marks of all",
		"leave the annotations of one of them, once the tools are gone",
	}}
}

// clash is a clause that asks and one that forbids, or says no.
type clash struct{ asks, against dialect.Decision }

// contradictions finds annotations one of which asks for a config that another forbids.
func (s sight) contradictions() []Finding {
	var order []clash
	about := map[clash][]string{}
	for _, c := range s.configs() {
		for _, k := range clashes(s.voices(c)) {
			if about[k] == nil {
				order = append(order, k)
			}
			about[k] = append(about[k], shortName(s.w, c))
		}
	}
	var found []Finding
	for _, k := range order {
		message := fmt.Sprintf("%s asks for %s, and %s %s", k.asks.Clause, several(about[k]), k.against.Clause, forbidden(k.against.Why))
		if k.asks.Dialect != k.against.Dialect {
			message += ": the one is " + k.asks.Dialect + "'s, and the other " + k.against.Dialect + "'s"
		}
		found = append(found, Finding{Conflict, message, "take one of the two away"})
	}
	return found
}

// clashes returns which of the voices about one config contradict each other. That something is left out of all that is referred to is
// what exclusions are for, unless it is another tool's.
func clashes(voices []dialect.Decision) []clash {
	var found []clash
	for _, ask := range voices {
		for _, against := range voices {
			deliberate := ask.Dialect == against.Dialect && ask.Why != reloader.ReasonNamed && against.Why != reloader.ReasonWorkloadIgnored
			if ask.Reload && against.Forbids() && !deliberate {
				found = append(found, clash{only(ask), only(against)})
			}
		}
	}
	return found
}

// only returns v without what is about one config alone.
func only(v dialect.Decision) dialect.Decision {
	return dialect.Decision{Dialect: v.Dialect, Why: v.Why, Clause: v.Clause}
}

func forbidden(why reloader.Reason) string {
	switch why {
	case reloader.ReasonConfigIgnored:
		return "on the config says that it rolls nothing"
	case reloader.ReasonWorkloadIgnored:
		return "says that nothing rolls the workload"
	}
	return "excludes it"
}

// switches are the meanings by which a tool is switched on for whatever a workload refers to.
var switches = []dialect.Meaning{dialect.Auto, dialect.TypedAuto, dialect.AutoIfTrue, dialect.Search}

// refusals finds annotations by which a tool is switched off, while another annotation switches on it or another tool.
func (s sight) refusals() []Finding {
	asking := map[string]string{}
	for c := range s.read {
		for _, v := range s.voices(c) {
			if v.Reload && (v.Why != reloader.ReasonNamed || asking[v.Dialect] == "") {
				asking[v.Dialect] = v.Clause
			}
		}
	}
	var found []Finding
	for _, d := range s.Dialects {
		for _, c := range d.Clauses {
			if !slices.Contains(switches, c.Meaning) || !off(s.w.Annotations[c.Key]) && !off(s.w.Template.Annotations[c.Key]) {
				continue
			}
			for _, name := range sortedKeys(asking) {
				if by := asking[name]; by != c.Key && (name != d.Name || s.switches(d, by)) {
					found = append(found, Finding{
						Conflict, fmt.Sprintf("%s is switched off, and %s rolls it all the same", c.Key, by), "take away " + by + ", or the one that says no",
					})
				}
			}
		}
	}
	return found
}

// switches reports whether the clause of d that has that key switches it on for whatever is referred to.
func (sight) switches(d *dialect.Dialect, key string) bool {
	return slices.ContainsFunc(d.Clauses, func(c dialect.Clause) bool { return c.Key == key && slices.Contains(switches, c.Meaning) })
}

// off reports whether a value says no in so many words.
func off(value string) bool {
	on, err := strconv.ParseBool(value)
	return err == nil && !on || value == "disabled"
}

// hidden finds annotations of the pod template that are not read because the workload itself has some.
func (s sight) hidden() []Finding {
	var found []Finding
	for _, d := range s.Dialects {
		for _, c := range d.Clauses {
			_, there := s.w.Template.Annotations[c.Key]
			_, here := s.w.Annotations[c.Key]
			if c.Where != dialect.OnWorkloadOrTemplate || !there || here {
				continue
			}
			i := slices.IndexFunc(d.Clauses, func(o dialect.Clause) bool {
				_, has := s.w.Annotations[o.Key]
				return o.Where == c.Where && has && kindsOf(o) == kindsOf(c)
			})
			if i >= 0 {
				found = append(found, Finding{
					Conflict, fmt.Sprintf("%s on the pod template is not read, because the workload itself has %s", c.Key, d.Clauses[i].Key),
					"write both on the workload",
				})
			}
		}
	}
	return found
}

func kindsOf(c dialect.Clause) string { return fmt.Sprint(c.Kinds) }

// problems finds values that cannot be read.
func (s sight) problems() []Finding {
	var found []Finding
	for _, d := range s.Dialects {
		interest, _ := d.Interest(s.w)
		for _, p := range interest.Problems {
			found = append(found, Finding{Typo, p, "correct the annotation"})
		}
	}
	return found
}

// absent finds names of configs that do not exist. A list that is about several kinds may mean any of them.
func (s sight) absent() []Finding {
	var found []Finding
	for _, d := range s.Dialects {
		var told []dialect.Mention
		mentions := d.Mentions(s.w)
		for _, m := range mentions {
			same := func(o dialect.Mention) bool {
				return o.Clause == m.Clause && o.Config.Namespace == m.Config.Namespace && o.Config.Name == m.Config.Name
			}
			there := func(o dialect.Mention) bool { return same(o) && !s.read[o.Config].Absent }
			if slices.ContainsFunc(mentions, there) || slices.ContainsFunc(told, same) {
				continue
			}
			told = append(told, m)
			found = append(found, s.absence(m))
		}
	}
	return found
}

// absence tells of a name of nothing, and what was meant perhaps.
func (s sight) absence(m dialect.Mention) Finding {
	f := Finding{Typo, fmt.Sprintf("%s names %s, which does not exist", m.Clause, shortName(s.w, m.Config)), "create it, or correct the name"}
	if like, ok := near.Word(m.Config.Name, s.names[m.Config.Kind]); ok && m.Config.Namespace == s.w.Namespace {
		f.Mend = "did you mean " + like + "?"
	}
	return f
}

// spaces finds names that the tool has not found because of the spaces around them, and Reroll does.
func (s sight) spaces() []Finding {
	var found []Finding
	for _, d := range s.Dialects {
		if toolOf(d.Name).trims {
			continue
		}
		for _, m := range d.Mentions(s.w) {
			if k, looked := s.read[m.Config]; m.Spaced && looked && !k.Absent {
				found = append(found, Finding{
					Notice, fmt.Sprintf("%s has spaces around %s: the tool has never found it, and Reroll does", m.Clause, m.Config.Name), "",
				})
			}
		}
	}
	return found
}

// shortName names a config as seen from w.
func shortName(w *workload.Workload, c reloader.Config) string {
	if c.Namespace == w.Namespace {
		return string(c.Kind) + "/" + c.Name
	}
	return c.String()
}

// several returns names as part of a sentence.
func several(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}
