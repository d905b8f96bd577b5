package dialect

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Voices returns what each clause of the dialect says about a change of c for w, in their order, where Decide returns the one that wins.
// Those that say nothing are left out.
func (d *Dialect) Voices(w *workload.Workload, c ConfigMeta) []Decision {
	if !d.speaks(w) {
		return nil
	}
	var found []Decision
	c = c.shownTo(w)
	s := d.scope(w, c.Config.Kind)
	for _, clause := range s.clauses {
		if !clause.reaches(w, c.Config) {
			continue
		}
		if why := meanings[clause.Meaning].decide(s, clause, c); why != "" {
			found = append(found, Decision{Reload: Asks(why), Dialect: d.Name, Why: why, Clause: clause.Key})
		}
	}
	return found
}

// Forbids reports whether a clause that gives this reason overrules all that follow.
func (v Decision) Forbids() bool { return forbids(v.Why) }

// Mention is a config that a list on a workload names literally: no expression and no glob.
type Mention struct {
	// Clause is the key of the list.
	Clause string
	Config reloader.Config
	// Excluded says that the list is one of configs that never reload the workload.
	Excluded bool
	// Spaced says that there are spaces around the name, which some tools take for a part of it.
	Spaced bool
}

// Mentions returns the configs of w's own cluster that its lists name, also those that another clause excludes. A list that is about several
// kinds names one of each. What cannot be a name is left
// out, as are templates' lists that the workload's own hide.
func (d *Dialect) Mentions(w *workload.Workload) []Mention {
	var found []Mention
	for _, kind := range reloader.ConfigKinds {
		s := d.scope(w, kind)
		for _, c := range s.clauses {
			if !slices.Contains([]Meaning{Named, Listed, ListedAcross, Globs, Exclude, ExcludeGlobs}, c.Meaning) {
				continue
			}
			for _, list := range s.values(c) {
				found = append(found, mentioned(s, c, list)...)
			}
		}
	}
	return found
}

// mentioned returns the configs that one list names.
func mentioned(s scope, c Clause, list string) []Mention {
	if len(list) > maxListBytes {
		return nil
	}
	parse := parseLocalNames
	if slices.Contains(acrossNamespaces, c.Meaning) {
		parse = parseNames
	}
	var found []Mention
	for text := range strings.SplitSeq(list, ",") {
		names, _ := parse(text, s.kind, s.w.Namespace)
		for _, n := range names {
			found = append(found, Mention{
				Clause: c.Key, Config: n.config, Excluded: c.Meaning == Exclude || c.Meaning == ExcludeGlobs, Spaced: text != strings.TrimSpace(text),
			})
		}
		if len(found) >= maxItems {
			break
		}
	}
	return found
}

// Says reports whether w carries an annotation of one of the dialect's clauses, on itself or on its pod template, whatever it says, and
// whether the dialect's tool looks after workloads of this kind.
func (d *Dialect) Says(w *workload.Workload) (keys []string, looksAfter bool) {
	for _, c := range d.Clauses {
		_, here := w.Annotations[c.Key]
		_, there := w.Template.Annotations[c.Key]
		if c.Where != OnConfig && (here || there && c.Where != OnWorkload) && !slices.Contains(keys, c.Key) {
			keys = append(keys, c.Key)
		}
	}
	return keys, d.Kinds == nil || slices.Contains(d.Kinds, w.Kind)
}
