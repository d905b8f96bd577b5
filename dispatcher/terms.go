package dispatcher

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// terms says what t itself asks for about when it is rolled, for whoever wants to know what a change would do. The caller holds mu.
func (d *Dispatcher) terms(t *tracked) reloader.Terms {
	terms := reloader.Terms{Weight: d.Dialects.Weight(t.w), Missing: d.lacks(t)}
	for _, w := range d.Dialects.Maintenance(t.w) {
		terms.Windows = append(terms.Windows, w.String())
	}
	interval := d.Brakes.MinInterval
	if own, ok := d.Dialects.MinInterval(t.w); ok {
		interval = max(own, interval)
	}
	terms.MinInterval = int64(interval / time.Second)
	return terms
}

// lacks says what t waits for, as far as it was looked for. The caller holds mu.
func (d *Dispatcher) lacks(t *tracked) []reloader.Missing {
	var missing []reloader.Missing
	for _, c := range d.Dialects.Awaits(t.w) {
		f, looked := d.facts[c]
		keys := dialect.MissingKeys(t.w.Template.References[c], f.digest.Keys)
		switch {
		case !looked:
		case f.absent:
			missing = append(missing, reloader.Missing{Config: c})
		case len(keys) > 0:
			missing = append(missing, reloader.Missing{Config: c, Keys: keys})
		}
	}
	return missing
}

// retold has the record of t written again if it is to tell of c whether that is missing. The caller holds mu.
func (d *Dispatcher) retold(t *tracked, c reloader.Config) {
	if slices.Contains(d.Dialects.Awaits(t.w), c) {
		d.settleQ.Add(t.w.Ref())
	}
}
