package dispatcher

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
)

// maxTries is after how many failures in a row a dependency is taken for one that has trouble of its own, so that nothing else waits for it.
const maxTries = 6

// scope is where configs are listed at once.
type scope struct {
	kind      reloader.ConfigKind
	namespace string
}

func scopeOf(c reloader.Config) scope { return scope{c.Kind, c.Namespace} }

// sweeper looks at every config that some workload depends on, once in each interval and evenly spread over it.
type sweeper struct {
	*looker
	// suspicion has the reason for a sweep of everything at once.
	suspicion chan string
}

// first looks at every config that a tracked workload depends on, and ends when every dependency is decided about, but for those with trouble of their
// own.
func (d *sweeper) first(ctx context.Context) error {
	b := d.lock()
	for ref := range b.index.byRef {
		d.workloadQ.Add(ref)
	}
	d.unlock()
	defer d.starting.Store(nil)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		settled := d.lock().settled()
		d.unlock()
		if settled {
			d.swept.Store(time.Now().UnixNano())
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// settled reports whether every dependency is decided.
func (b *board) settled() bool {
	failed := func(tries int) bool { return tries >= maxTries && b.answered.Load() }
	for _, t := range b.index.byRef {
		if t.relist && len(t.plan.Patterns) > 0 && !failed(t.tries) {
			return false
		}
		for _, e := range t.edges.All() {
			if e.open && !e.behind && !failed(e.tries) {
				return false
			}
		}
	}
	return true
}

// Suspect has every config looked at now, because hints may have been lost.
func (d *sweeper) Suspect(reason string) {
	select {
	case d.suspicion <- reason:
	default: // one full sweep is due anyway
	}
}

// sweep looks at every scope in each interval, until ctx ends.
func (d *sweeper) sweep(ctx context.Context) {
	if d.SweepInterval <= 0 {
		return
	}
	d.metrics.Swept(time.Now()) // the sweep at the start has looked at all
	for ctx.Err() == nil {
		began := time.Now()
		reached := d.round(ctx, d.SweepInterval)
		d.metrics.SweepTook(time.Since(began))
		d.expandPatterns()
		if reached {
			d.metrics.Swept(time.Now())
		}
	}
}

// unsure reads everything again a while after the start: a hint of an earlier process may have had an unknown outcome, and its
// second look ended with it.
func (d *sweeper) unsure(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(lookAgain):
		d.round(ctx, 0)
	}
}

// round looks at every scope, spread over a time, and reports whether it could look at all. Without that time it hurries.
func (d *sweeper) round(ctx context.Context, over time.Duration) bool {
	scopes := d.lock().index.scopes()
	d.unlock()
	begin, reached := time.Now(), true
	step := over / time.Duration(max(1, len(scopes)))
	if len(scopes) == 0 {
		d.pause(ctx, step)
	}
	for i, s := range scopes {
		d.pause(ctx, time.Until(begin.Add(time.Duration(i+1)*step)))
		reached = d.scope(ctx, s, step) && reached
	}
	return reached && ctx.Err() == nil
}

// pause waits. If hints may have been lost meanwhile, it looks at everything instead.
func (d *sweeper) pause(ctx context.Context, wait time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	case reason := <-d.suspicion:
		d.Logger.Info("sweeping everything", "reason", reason)
		d.round(ctx, 0)
		d.expandPatterns()
	}
}

// scope looks at the configs of one scope that are not in the version last seen, and reports whether it could. Where versions may not be listed, each
// config is read, spread over the available time. A list that fails is retried.
func (d *sweeper) scope(ctx context.Context, s scope, over time.Duration) bool {
	switch err := d.listed(ctx, s); {
	case err == nil:
		return true
	case !apierrors.IsForbidden(err):
		d.Logger.Warn("sweep could not list configs", "kind", s.kind, "namespace", s.namespace, "error", err)
		d.scopeQ.AddRateLimited(s)
		return false
	}
	known := d.known(s)
	for i, c := range known {
		if i > 0 {
			d.pause(ctx, over/time.Duration(len(known)))
		}
		if ctx.Err() == nil {
			d.config(ctx, c)
		}
	}
	return true
}

// listed lists the configs of one scope and looks at those that are not in the version last seen.
func (d *sweeper) listed(ctx context.Context, s scope) error {
	began := time.Now()
	listed, err := d.Configs.List(ctx, s.kind, s.namespace)
	if err != nil {
		return err
	}
	for _, c := range d.known(s) {
		if ctx.Err() != nil {
			return nil
		}
		meta, there := listed[c]
		seen := d.lock().configs[c].asSeen(c.Kind, meta, there, began)
		d.unlock()
		if !seen {
			d.config(ctx, c)
		}
	}
	return nil
}

// again sweeps a scope whose configs could not be listed. One that may not be listed waits for its turn.
func (d *sweeper) again(ctx context.Context, s scope) time.Duration {
	if err := d.listed(ctx, s); err != nil && !apierrors.IsForbidden(err) {
		return again
	}
	return 0
}

func (d *sweeper) known(s scope) []reloader.Config {
	b := d.lock()
	defer d.unlock()
	return b.index.known(s)
}

// asSeen reports whether a config is as the last look found it, which then counts as one that began with the list that has meta.
func (e *entry) asSeen(kind reloader.ConfigKind, meta live.Meta, there bool, began time.Time) bool {
	if !e.looked() || e.now.absent == there || there && !e.now.is(meta) {
		return false
	}
	if !kind.External() {
		e.now.began = reloader.Later(e.now.began, began)
	}
	return true
}

func (d *sweeper) config(ctx context.Context, c reloader.Config) {
	_, err := d.look(ctx, c, nil)
	if err == nil {
		return
	}
	d.Logger.Warn("sweep could not look at a config", "config", c.String(), "error", err)
	if fateOf(err) == fateAgain {
		d.lock().intake.of(c).due = true
		d.unlock()
		d.configQ.AddRateLimited(c)
	}
}
