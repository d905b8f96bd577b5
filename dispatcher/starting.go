package dispatcher

import (
	"context"
	"sync"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
)

// minListed is how many configs of a kind and namespace must have dependents so that a start lists the metadata of all there are, instead of
// reading that of each: a page of a list costs about as much as a few reads.
const minListed = 10

// list is the metadata of all configs of a kind in a namespace, listed once while the process starts: a thousand reads are then two requests, and
// workloads with patterns share them. What is written after that has its hint to come, and a look because of a hint reads the config itself.
type list struct {
	once  sync.Once
	metas map[reloader.Config]live.Meta
	err   error
	// at is when the list was asked for, and seen when it had come.
	at, seen time.Time
}

// listAtStart has lists made when somebody asks for them first, until the first sweep has ended.
func (d *Dispatcher) listAtStart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := map[scope]int{}
	for c := range d.index.byConfig {
		if c.Cluster == "" {
			known[scopeOf(c)]++
		}
	}
	found := map[scope]*list{}
	for s, n := range known {
		if _, patterns := d.index.patterned[s.namespace]; n >= minListed || patterns {
			found[s] = &list{}
		}
	}
	d.sweeper.starting.Store(&found)
}

// list returns the list of a scope that a start makes, or nil.
func (d *Dispatcher) list(ctx context.Context, s scope) *list {
	lists := d.sweeper.starting.Load()
	if lists == nil || (*lists)[s] == nil {
		return nil
	}
	l := (*lists)[s]
	l.once.Do(func() {
		l.at = time.Now()
		l.metas, l.err = d.Configs.List(ctx, s.kind, s.namespace)
		l.seen = time.Now()
	})
	return l
}

// listConfigs returns the configs of a scope: while the process starts, as they were when somebody asked first.
func (d *Dispatcher) listConfigs(ctx context.Context, s scope) (map[reloader.Config]live.Meta, error) {
	if l := d.list(ctx, s); l != nil && l.err == nil {
		return l.metas, nil
	}
	return d.Configs.List(ctx, s.kind, s.namespace)
}

// listOf returns the list that a start has made of the scope of c; nil if there is none, or if c has been looked at, or told of, since.
func (d *Dispatcher) listOf(ctx context.Context, c reloader.Config, later bool) *list {
	if later || c.Kind == reloader.SecretProviderClass {
		return nil
	}
	if l := d.list(ctx, scopeOf(c)); l != nil && l.err == nil {
		return l
	}
	return nil
}

// sweepUnsure looks at everything once more a while after the start: the outcome of a write that an earlier process was told of may have been unknown, and its
// second look ended with it.
func (d *Dispatcher) sweepUnsure(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(lookAgain):
	}
	for _, s := range d.scopes() {
		d.sweepScope(ctx, s, tempo{hurry: true})
	}
}
