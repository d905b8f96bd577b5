package dispatcher

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
)

// crowd is how many workloads roll now, in all and by namespace: those that are being patched, and those whose rollout has not ended.
type crowd struct {
	all        int
	namespaces map[string]int
}

// limited reports whether the brakes limit how many roll at a time.
func (b Brakes) limited() bool { return b.Concurrent > 0 || b.NamespaceConcurrent > 0 }

// crowdBeside counts who rolls beside t, which may roll anew as often as it likes. The caller holds mu.
func (d *Dispatcher) crowdBeside(t *tracked) crowd {
	found := crowd{namespaces: map[string]int{}}
	for ref, other := range d.index.byRef {
		if other != t && (other.going || other.rollout.rolling()) {
			found.all++
			found.namespaces[ref.Namespace]++
		}
	}
	return found
}

// room reports whether one more may roll in a namespace.
func (b Brakes) room(c crowd, namespace string) bool {
	return (b.Concurrent <= 0 || c.all < b.Concurrent) && (b.NamespaceConcurrent <= 0 || c.namespaces[namespace] < b.NamespaceConcurrent)
}

// crowded returns why t has to wait until rollouts of others have ended; nil if it has not. The caller holds mu.
func (d *Dispatcher) crowded(t *tracked) *reloader.Hold {
	if !d.Brakes.limited() || d.Brakes.room(d.crowdBeside(t), t.w.Namespace) {
		return nil
	}
	return &reloader.Hold{Reason: reloader.ReasonConcurrencyLimited}
}

// nextOfCrowd has as many tried as there is room for, those first that have waited longest. The caller holds mu.
func (d *Dispatcher) nextOfCrowd() {
	if !d.Brakes.limited() {
		return
	}
	var waiting []*tracked
	for _, t := range d.index.byRef {
		if t.hold != nil && t.hold.Reason == reloader.ReasonConcurrencyLimited {
			waiting = append(waiting, t)
		}
	}
	if len(waiting) == 0 {
		return
	}
	slices.SortFunc(waiting, func(a, b *tracked) int {
		if byTime := a.hold.Since.Compare(b.hold.Since); byTime != 0 {
			return byTime
		}
		return compareRefs(a.w.Ref(), b.w.Ref())
	})
	rolling := d.crowdBeside(nil)
	for _, t := range waiting {
		if d.Brakes.room(rolling, t.w.Namespace) {
			rolling.all++
			rolling.namespaces[t.w.Namespace]++
			d.flushQ.Add(t.w.Ref())
		}
	}
}
