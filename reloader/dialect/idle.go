package dialect

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/near"
)

// Idle returns the patterns that find no config, as Missing with their Pattern. all are the configs of the workload's namespace, and of the kinds that
// were listed. A pattern of a kind that was not listed is left out, and so is an item that is also a name: that config is missing.
func (p *Plan) Idle(all map[reloader.ConfigKind][]ConfigMeta) (idle []reloader.Missing) {
	type item struct{ clause, text string }
	finds := map[item]bool{}
	for _, o := range p.Patterns {
		configs, listed := all[o.Kind]
		finds[item{o.Clause, o.text}] = finds[item{o.Clause, o.text}] || !listed || slices.ContainsFunc(configs, o.Finds) || slices.ContainsFunc(p.Names, func(c reloader.Config) bool {
			return c.Kind == o.Kind && c.Name == o.text
		})
	}
	for _, o := range p.Patterns {
		if of := (item{o.Clause, o.text}); !finds[of] {
			finds[of] = true // a list that is about several kinds says it once
			idle = append(idle, reloader.Missing{
				Config: reloader.Config{Kind: o.Kind, Namespace: o.Namespace}, Pattern: o.text, Clause: o.Clause, Meant: o.meant(all[o.Kind]),
			})
		}
	}
	return idle
}

// Finds reports whether the pattern finds c, by its name and labels.
func (p Pattern) Finds(c ConfigMeta) bool {
	return p.Match(c.Config.Name) && (p.selector == nil || p.selector.Matches(labels.Set(c.Labels)))
}

// meant returns what was probably meant by a pattern that finds nothing among configs; empty if nothing is near.
func (p Pattern) meant(configs []ConfigMeta) string {
	if p.selector != nil {
		return ""
	}
	names := make([]string, len(configs))
	for i, c := range configs {
		names[i] = c.Config.Name
	}
	slices.Sort(names)
	if glob, err := compileGlob(p.text); err == nil && strings.ContainsAny(p.text, "*?") && slices.ContainsFunc(names, glob.MatchString) {
		return strings.NewReplacer(".*", ".*", ".", `\.`, "*", ".*", "?", ".").Replace(p.text)
	}
	name := strings.TrimPrefix(p.text, p.Namespace+"/")
	if slices.Contains(names, name) {
		return name
	}
	meant, _ := near.Word(name, names)
	return meant
}
