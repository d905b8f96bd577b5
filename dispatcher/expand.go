package dispatcher

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// A pattern matches configs that nobody knows before they are there. Those that were made after all were last listed are new to the workload.

// expandDelay is how long after a config was made whose name nobody tells it is looked for, so that many are found at once.
const expandDelay = time.Second

// expandNear has the workloads that a config of the kind and namespace of c could matter to look for those that they do not know. The caller
// holds mu.
func (d *Dispatcher) expandNear(c reloader.Config) {
	for ref, t := range d.index.patterned[c.Namespace] {
		if slices.ContainsFunc(t.plan.Patterns, func(p dialect.Pattern) bool { return p.Kind == c.Kind }) {
			t.relist = true
			d.workloadQ.AddAfter(ref, expandDelay)
		}
	}
}

// expandPatterns has every workload with a pattern look for configs that match it by now, and those that lacked room whether there is some.
func (d *Dispatcher) expandPatterns() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, tracked := range d.index.patterned {
		for ref, t := range tracked {
			t.relist = true
			d.workloadQ.Add(ref)
		}
	}
}

// expand links the configs that t's patterns match. Where configs of a kind may not be listed, a pattern is matched against the names in hints instead.
func (d *Dispatcher) expand(ctx context.Context, t *tracked) error {
	d.mu.Lock()
	p, ref, due := t.plan, t.w.Ref(), t.relist
	t.relist = false
	if t.crowded != "" && due {
		t.crowded = ""
		d.index.put(t)
	}
	d.mu.Unlock()
	if !due || len(p.Patterns) == 0 {
		return nil
	}
	began := time.Now()
	for _, kind := range reloader.ConfigKinds {
		if !slices.ContainsFunc(p.Patterns, func(p dialect.Pattern) bool { return p.Kind == kind }) {
			continue
		}
		configs, err := d.listConfigs(ctx, scope{kind, ref.Namespace})
		if fateOf(err) == fateNever {
			continue
		}
		if err != nil {
			d.mu.Lock()
			t.relist = true
			t.listTries++
			d.mu.Unlock()
			return fmt.Errorf("list %ss of %s: %w", kind, ref.Namespace, err)
		}
		d.linkMatches(t, p, slices.SortedFunc(maps.Keys(configs), compareConfigs))
	}
	d.mu.Lock()
	t.listing, t.listTries = began, 0
	d.mu.Unlock()
	return nil
}

// linkMatches makes those of configs that patterns of t match edges of t. Those that have an entry come first: if they are too many, the same
// ones stay after a restart.
func (d *Dispatcher) linkMatches(t *tracked, p *dialect.Plan, configs []reloader.Config) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.index.byRef[t.w.Ref()] != t || t.plan != p {
		return
	}
	var added []reloader.Config
	for _, c := range configs {
		switch _, known := t.state.Writes[c]; {
		case !p.Matches(c):
		case known:
			d.index.match(t, c)
		default:
			added = append(added, c)
		}
	}
	for _, c := range added {
		d.index.match(t, c)
	}
	if t.crowded != "" && !t.saidCrowded {
		d.Announcer.Complain(t.w, t.crowded)
		d.recordQ.Add(t.w.Ref())
	}
	t.saidCrowded = t.crowded != ""
}
