package dialect

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Strategy returns the strategy by which w is marked: the first that it chooses, or else the one of that name.
func (s Set) Strategy(w *workload.Workload, name string) strategy.Strategy {
	for _, d := range s {
		if own := d.Strategy(w); own != "" {
			name = own
			break
		}
	}
	chosen, _ := strategy.Named(name)
	return chosen
}

// Writer returns the strategy by which d marks a workload that is marked by general otherwise. The nil dialect is one that leaves it to
// that.
func (d *Dialect) Writer(general strategy.Strategy) strategy.Strategy {
	if d == nil || d.Marks == "" || general.Own {
		return general
	}
	own, _ := strategy.Named(d.Marks)
	return own
}

// WritesAnnotation reports whether the tool writes annotations of that key on workloads or their pod templates.
func (d *Dialect) WritesAnnotation(key string) bool {
	return slices.ContainsFunc(d.Writes, func(w string) bool {
		prefix, all := strings.CutSuffix(w, "*")
		return all && strings.HasPrefix(key, prefix) || w == key
	})
}
