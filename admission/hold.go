package admission

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/strategy"
)

// Missing says for what the pods of the workload are not to be scheduled, of what seen tells; nothing if they are. A config that could not be
// read is not missing: nobody is kept from starting by what nobody knows.
func (d *Draft) Missing(seen map[reloader.Config]Seen) []string {
	var missing []string
	for _, c := range d.Awaits {
		if s, looked := seen[c]; looked {
			missing = append(missing, dialect.Missing(c, d.now.Template.References[c], s.Absent, s.Digest.Keys)...)
		}
	}
	return missing
}

// waits reports whether a mark is that of a dialect which waits for what is missing: it is written when that is there.
func (d *Draft) waits(p strategy.Placed) bool {
	return slices.ContainsFunc(d.rules.Dialects, func(dl *dialect.Dialect) bool { return dl.Waits && dl.Marks == p.Strategy.Name })
}

// reads are the configs that are to be read for a draft.
func (d *Draft) reads() []reloader.Config {
	configs := slices.Concat(d.Needs, d.Awaits)
	slices.SortFunc(configs, compareConfigs)
	return slices.Compact(configs)
}
