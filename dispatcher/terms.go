package dispatcher

import (
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// terms says what t itself asks for about when it is rolled and for what, for whoever wants to know what a change would do. The caller holds mu.
func (d *Dispatcher) terms(t *tracked) reloader.Terms {
	terms := reloader.Terms{
		Dormant: t.w.Dormant, Keys: d.planOf(t.w).Chosen.Keys.String(),
	}
	for _, w := range d.planOf(t.w).Chosen.Maintenance {
		terms.Windows = append(terms.Windows, w.String())
	}
	interval := max(d.planOf(t.w).Chosen.MinInterval, d.Brakes.MinInterval)
	terms.MinInterval = int64(interval / time.Second)
	return terms
}

// retells reports whether the record of a workload is to be written again because it has become w: it tells of what others foresee.
func (d *Dispatcher) retells(before, w *workload.Workload) bool {
	return d.planOf(before).Chosen.Pause.Begun != d.planOf(w).Chosen.Pause.Begun || !maps.Equal(before.Annotations, w.Annotations) ||
		before.Dormant != w.Dormant || !maps.EqualFunc(before.Template.References, w.Template.References, sameUses)
}

func sameUses(a, b *workload.Reference) bool {
	return slices.EqualFunc(a.Uses, b.Uses, func(u, v reloader.Use) bool {
		return u.How == v.How && u.Container == v.Container && slices.Equal(u.Keys, v.Keys)
	})
}
