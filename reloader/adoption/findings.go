package adoption

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/near"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// inspection is one workload with all that was read for it.
type inspection struct {
	View
	w     *workload.Workload
	plan  dialect.Plan
	read  map[reloader.Config]Known
	names Names
}

// asking returns the names of the dialects by which some config rolls the workload.
func (s inspection) asking() []string {
	var names []string
	for _, d := range s.plan.Enabled {
		only := s.plan.Only(d)
		for c, k := range s.read {
			if meta := metaOf(c, k); only.Decide(meta).Reload && s.plan.Decide(meta).Reload {
				names = append(names, d.Name)
				break
			}
		}
	}
	return names
}

// tools finds that several tools look after the workload.
func (s inspection) tools() []Finding {
	names := slices.DeleteFunc(s.asking(), func(name string) bool { return name == "reroll" })
	if len(names) < 2 {
		return nil
	}
	return []Finding{{
		Conflict, strings.Join(names, " and ") + " look after it: each of the tools rolls it for itself, and Reroll makes one decision and one roll, and writes the marks of all",
		"leave the annotations of one of them, once the tools are gone",
	}}
}

// problems finds values that cannot be read.
func (s inspection) problems() []Finding {
	var found []Finding
	for _, p := range s.plan.Problems {
		found = append(found, Finding{Typo, p, "correct the annotation"})
	}
	return found
}

// absent finds names of configs that do not exist. A list that is about several kinds may mean any of them.
func (s inspection) absent() []Finding {
	var found []Finding
	var reported []dialect.Mention
	mentions := s.plan.Mentions()
	for _, m := range mentions {
		same := func(o dialect.Mention) bool {
			return o.Clause == m.Clause && o.Config.Namespace == m.Config.Namespace && o.Config.Name == m.Config.Name
		}
		there := func(o dialect.Mention) bool { return same(o) && !s.read[o.Config].Absent }
		if slices.ContainsFunc(mentions, there) || slices.ContainsFunc(reported, same) {
			continue
		}
		reported = append(reported, m)
		found = append(found, s.absence(m))
	}
	return found
}

// absence tells of a name of nothing, and what was meant perhaps.
func (s inspection) absence(m dialect.Mention) Finding {
	f := Finding{Typo, fmt.Sprintf("%s names %s, which does not exist", m.Clause, shortName(s.w, m.Config)), "create it, or correct the name"}
	if like, ok := near.Word(m.Config.Name, s.names[m.Config.Kind]); ok && m.Config.Namespace == s.w.Namespace {
		f.Mend = "did you mean " + like + "?"
	}
	return f
}

// shortName names a config as seen from w.
func shortName(w *workload.Workload, c reloader.Config) string {
	if c.Namespace == w.Namespace {
		return string(c.Kind) + "/" + c.Name
	}
	return c.String()
}
