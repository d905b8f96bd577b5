package dispatcher

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Where the creation of a config is a change, those that a workload names are known to be absent before. Of those that only its patterns match
// nobody knows before they are there: they are new if they were made after the last time that all were looked for.

// search is one look for all configs that patterns match.
type search struct {
	began    time.Time
	interest dialect.Plan
}

// search returns the look for what the patterns of a workload match that begins now.
func (d *Dispatcher) search(ref reloader.WorkloadRef) search {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := search{began: time.Now()}
	if t := d.index.get(ref); t != nil {
		s.interest = t.interest
	}
	return s
}

// searched takes note that each config which s has found has a baseline, or is pending. It does not if t has asked for others meanwhile.
func (d *Dispatcher) searched(t *tracked, s search) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(s.interest.Patterns) > 0 && equalPatterns(s.interest, t.interest) && !t.lacksBaseline() {
		t.listed = s.began
	}
}

// madeSince reports whether the creation of c, to which t has a new edge, is a change for t: a pattern that t had already matches it, and it
// was made after the last look. The clock of the API server may be another one; if ours is ahead, a creation in between is none.
func (d *Dispatcher) madeSince(t *tracked, w *workload.Workload, c reloader.Config, f fact) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, doubted := t.doubted[c]
	return !doubted && !t.listed.IsZero() && !f.Created.Before(t.listed.Truncate(time.Second)) &&
		!slices.Contains(t.interest.Names, c) && d.onCreate(w, c)
}

// expandDelay is how long after a config was made whose name nobody tells it is looked for, so that many are found at once.
const expandDelay = time.Second

// expandNear has the workloads that a config of the kind and namespace of c could matter to look for those that they do not know. The caller
// holds mu.
func (d *Dispatcher) expandNear(c reloader.Config) {
	for ref, t := range d.index.patterned[c.Namespace] {
		if hasPattern(t, c.Kind) {
			d.edgesQ.AddAfter(ref, expandDelay)
		}
	}
}

// expandPatterns has every workload with a pattern look for configs that match it by now, and those that lacked room whether there is some.
func (d *Dispatcher) expandPatterns() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ref, t := range d.index.byRef {
		if t.crowded != "" {
			d.edgesQ.Add(ref)
		}
	}
	for _, tracked := range d.index.patterned {
		for ref := range tracked {
			d.edgesQ.Add(ref)
		}
	}
}

func hasPattern(t *tracked, kind reloader.ConfigKind) bool {
	return slices.ContainsFunc(t.interest.Patterns, func(p dialect.Pattern) bool { return p.Kind == kind })
}
