package dispatcher

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// lists returns what a start lists when somebody asks for it first.
func (d *Dispatcher) lists() map[scope]*list {
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
	return found
}

// list returns the list of a scope that a start makes, or nil.
func (d *Dispatcher) list(ctx context.Context, s scope) *list {
	lists := d.starting.Load()
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

// meta reads the metadata of c, and returns when that was asked for and when it had come. The first look at c of a process that starts takes
// it from a list, if there is one.
func (d *Dispatcher) meta(ctx context.Context, c reloader.Config, hinted bool) (meta live.Meta, at, seen time.Time, err error) {
	if _, looked, _ := d.recall(c); !looked && !hinted && c.Kind != reloader.SecretProviderClass {
		if l := d.list(ctx, scopeOf(c)); l != nil && l.err == nil {
			meta, there := l.metas[c]
			if !there {
				err = apierrors.NewNotFound(schema.GroupResource{Resource: string(c.Kind)}, c.Name)
			}
			return meta, l.at, l.seen, err
		}
	}
	at = time.Now()
	meta, err = d.Configs.Meta(ctx, c)
	d.metrics.reads.WithLabelValues("metadata").Inc()
	return meta, at, time.Now(), err
}
