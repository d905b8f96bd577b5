package dispatcher

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/live"
)

// A pattern matches configs that do not exist yet. Configs created since the last list are new to the workload.

// expandDelay is how long after the creation of configs with unknown names they are listed, so that one list finds many.
const expandDelay = time.Second

// expandNear has the workloads that a config of the kind and namespace of c could matter to look for those that they do not know.
func (b *board) expandNear(c reloader.Config) {
	for ref, t := range b.index.patterned[c.Namespace] {
		if hasPattern(t.plan, c.Kind) {
			t.relist = true
			b.workloadQ.AddAfter(ref, expandDelay)
		}
	}
}

func hasPattern(p *dialect.Plan, kind reloader.ConfigKind) bool {
	return slices.ContainsFunc(p.Patterns, func(p dialect.Pattern) bool { return p.Kind == kind })
}

// expandPatterns has every workload with a pattern look for configs that match it by now, and those that lacked room whether there is some.
func (d *sweeper) expandPatterns() {
	b := d.lock()
	defer d.unlock()
	for _, patterned := range b.index.patterned {
		for ref, t := range patterned {
			t.relist = true
			d.workloadQ.Add(ref)
		}
	}
}

// expand links the configs that t's patterns match. Where configs of a kind may not be listed, a pattern is matched against the names in hints instead.
func (d *looker) expand(ctx context.Context, t *tracked) error {
	d.lock()
	p, ref, due := t.plan, t.w.Ref(), t.relist
	t.relist = false
	d.unlock()
	if !due || len(p.Patterns) == 0 {
		return nil
	}
	began := time.Now()
	var found []reloader.Config
	metas := map[reloader.ConfigKind][]dialect.ConfigMeta{}
	for _, kind := range reloader.ConfigKinds {
		if !hasPattern(p, kind) {
			continue
		}
		configs, err := d.list(ctx, scope{kind, ref.Namespace})
		if err != nil && fateOf(err) != fateNever {
			d.lock()
			t.relist = true
			t.tries++
			d.unlock()
			return fmt.Errorf("list %ss of %s: %w", kind, ref.Namespace, err)
		}
		found = append(found, slices.SortedFunc(maps.Keys(configs), reloader.Config.Compare)...)
		if err == nil {
			metas[kind] = []dialect.ConfigMeta{}
		}
		for c, meta := range configs {
			metas[kind] = append(metas[kind], dialect.ConfigMeta{Config: c, Labels: meta.Labels})
		}
	}
	idle := p.Idle(metas)
	b := d.lock()
	defer d.unlock()
	if b.index.byRef[ref] != t || t.plan != p {
		t.relist = true // it has changed meanwhile
		return nil
	}
	if t.crowded != "" {
		t.crowded = ""
		b.index.put(t)
	}
	for _, known := range []bool{true, false} { // those that have an entry first: if they are too many, the same ones stay after a restart
		for _, c := range found {
			if _, has := t.state.Writes.Find(c); has == known && p.Matches(c) {
				b.index.link(t, c)
			}
		}
	}
	if t.crowded != "" {
		d.Announcer.Complain(t.w, t.crowded)
	}
	t.listed, t.tries, t.idle = began, 0, idle
	b.recordNews(t)
	return nil
}

// list returns the configs of a scope; during the start, those of the first call.
func (d *looker) list(ctx context.Context, s scope) (map[reloader.Config]live.Meta, error) {
	if l := d.starting.Load().list(ctx, d.Configs, s); l != nil {
		return l.metas, nil
	}
	return d.Configs.List(ctx, s.kind, s.namespace)
}
