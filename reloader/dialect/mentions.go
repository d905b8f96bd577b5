package dialect

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
)

// Mention is a config that a list on a workload names literally: no expression and no glob.
type Mention struct {
	// Clause is the key of the list.
	Clause string
	Config reloader.Config
}

// Mentions returns the configs of the workload's own cluster that its lists name, also those that another clause excludes. A list that is about
// several kinds names one of each. Invalid names are left out, as are templates' lists that the workload's own hide.
func (p *Plan) Mentions() []Mention {
	var found []Mention
	for _, o := range p.parts {
		for _, r := range o.rules {
			r.configs(func(c reloader.Config) {
				if c.Cluster == "" && c.Validate() == nil {
					found = append(found, Mention{r.Key, c})
				}
			})
		}
	}
	slices.SortStableFunc(found, func(a, b Mention) int { return a.Config.Compare(b.Config) })
	return found
}
