package dispatcher

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

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

// sweeper looks at every config that some workload depends on, once in each interval.
type sweeper struct {
	*looker
	// suspicion has the reason for a sweep now.
	suspicion chan string
}

// first looks at every config that a tracked workload depends on, and ends when every dependency is decided about, but for those with trouble of their
// own.
func (d *sweeper) first(ctx context.Context) error {
	defer d.starting.Store(nil)
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		defer d.unlock()
		return d.lock().settled(), nil
	})
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

// sweep looks at every scope in each interval, and now when hints may have been lost, until ctx ends.
func (d *sweeper) sweep(ctx context.Context) {
	var interval <-chan time.Time // nil if there are no sweeps but the one at the start, which has looked at all
	if d.SweepInterval > 0 {
		d.metrics.Swept(time.Now())
		interval = time.Tick(d.SweepInterval)
	}
	time.AfterFunc(lookAgain, func() {
		d.Suspect("a request that an earlier process heard of may have been carried out since the start")
	})
	for {
		select {
		case <-ctx.Done():
			return
		case <-interval:
		case reason := <-d.suspicion:
			d.Logger.Info("sweeping everything", "reason", reason)
		}
		began, reached := time.Now(), true
		scopes := d.lock().index.scopes()
		d.unlock()
		for _, s := range scopes {
			reached = d.scope(ctx, s) && reached
		}
		d.expandPatterns()
		if d.metrics.SweepTook(time.Since(began)); reached && ctx.Err() == nil {
			d.metrics.Swept(time.Now())
		}
	}
}

// readPause is between two reads where configs cannot be listed, so that hints do not wait for them.
const readPause = 10 * time.Millisecond

// scope looks at the configs of one scope that are not in the version last seen, and reports whether it could. Where versions may not be listed, each
// config is read. A list that fails otherwise waits for the next sweep.
func (d *sweeper) scope(ctx context.Context, s scope) bool {
	began := time.Now()
	listed, err := d.Configs.List(ctx, s.kind, s.namespace)
	if err != nil && !apierrors.IsForbidden(err) {
		d.Logger.Warn("sweep could not list configs", "kind", s.kind, "namespace", s.namespace, "error", err)
		return false
	}
	known := d.lock().index.known(s)
	d.unlock()
	for _, c := range known {
		if ctx.Err() != nil {
			return false
		}
		if err != nil {
			time.Sleep(readPause)
		}
		meta, there := listed[c]
		b := d.lock()
		if err != nil || !b.configs[c].asSeen(c.Kind, meta, there, began) {
			b.lookAt(c)
		}
		d.unlock()
	}
	return true
}

// asSeen reports whether a config is as the last look found it, which then counts as one that began with the list that has meta.
func (e *entry) asSeen(kind reloader.ConfigKind, meta live.Meta, there bool, began time.Time) bool {
	if !e.looked() || !e.now.is(meta, there) {
		return false
	}
	if !kind.External() {
		e.now.began = reloader.Later(e.now.began, began)
	}
	return true
}

// lookAt has the workers look at c, and try again where that fails, although no hint asks for it.
func (b *board) lookAt(c reloader.Config) {
	b.intake.of(c).due = true
	b.configQ.Add(c)
}
