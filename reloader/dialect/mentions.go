package dialect

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Mention is a config that a list on a workload names literally: no expression and no glob.
type Mention struct {
	// Clause is the key of the list.
	Clause string
	Config reloader.Config
}

// Mentions returns the configs of w's own cluster that its lists name, also those that another clause excludes. A list that is about several
// kinds names one of each. What cannot be a name is left out, as are templates' lists that the workload's own hide.
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
			found = append(found, Mention{c.Key, n.config})
		}
		if len(found) >= maxItems {
			break
		}
	}
	return found
}
