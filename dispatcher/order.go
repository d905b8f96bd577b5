package dispatcher

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// orderTime bounds how long a workload waits for those of less weight, counted from the oldest change that it waits for. Who is held back
// for longer than that, by a pause or a window of its own, must not keep others from new content for ever.
const orderTime = time.Hour

// inOrder returns why t has to wait until workloads of less weight have rolled out; nil if it has not. Only those of its own namespace that
// depend on a config that t waits for go before it: nobody elsewhere can hold it back. It is counted anew whenever somebody asks, from what
// is on record about each of them. The caller holds mu.
func (d *Dispatcher) inOrder(t *tracked, now time.Time) *reloader.Hold {
	weight := d.Dialects.Weight(t.w)
	if weight == 0 || t.going || d.instead() != reloader.ReasonReloaded {
		return nil
	}
	due := t.first.Add(orderTime)
	if !due.After(now) {
		return nil
	}
	for _, c := range slices.SortedFunc(maps.Keys(t.pending), compareConfigs) {
		if begun(t.w, broughtEntry(d.latest[c].Change)) {
			continue
		}
		if first := d.goesBefore(t, c, weight); first != nil {
			d.inLine[c] = struct{}{}
			return &reloader.Hold{
				Reason: reloader.ReasonWaitingForStep, Due: due,
				Message: fmt.Sprintf("%s: %s goes first, with less weight", c, first.w.Ref()),
			}
		}
	}
	return nil
}

// goesBefore returns the first workload, by name, of t's namespace and of less weight than that to which the latest change of c is still to
// be given, or that still rolls out; nil if there is none. The caller holds mu.
func (d *Dispatcher) goesBefore(t *tracked, c reloader.Config, weight int) *tracked {
	var first *tracked
	for ref, other := range d.index.byConfig[c] {
		waits := other.pending[c] != nil && !other.hold.DeadLetter()
		if other == t || ref.Namespace != t.w.Namespace || !waits && !other.rollout.rolling() || d.Dialects.Weight(other.w) >= weight {
			continue
		}
		if first == nil || compareRefs(ref, first.w.Ref()) < 0 {
			first = other
		}
	}
	return first
}

// nextInOrder has those tried that wait for t, of which something has become. The caller holds mu.
func (d *Dispatcher) nextInOrder(t *tracked) {
	for c := range t.edges {
		if _, some := d.inLine[c]; !some {
			continue
		}
		delete(d.inLine, c) // who still has to wait says so again
		for ref, other := range d.index.byConfig[c] {
			if other.hold.ForOthers() && other != t && d.Dialects.Weight(other.w) > 0 {
				d.flushQ.Add(ref)
			}
		}
	}
}
