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

// lists has what a process lists once while it starts: a thousand reads are then two requests, and workloads with patterns share them. What is
// written after that has its hint to come, and a look because of a hint reads the config itself.
type lists map[scope]*list

// list is the metadata of all configs of a kind in a namespace.
type list struct {
	once  sync.Once
	metas map[reloader.Config]live.Meta
	err   error
	// at is when the list was asked for, and seen when it had come.
	at, seen time.Time
}

// newLists returns the lists that a start makes, each when it is needed first.
func newLists(x *index) *lists {
	known := map[scope]int{}
	for c := range x.byConfig {
		if c.Cluster == "" {
			known[scopeOf(c)]++
		}
	}
	all := lists{}
	for s, n := range known {
		if n >= minListed || len(x.patterned[s.namespace]) > 0 {
			all[s] = &list{}
		}
	}
	return &all
}

// list returns the list of a scope; nil if there is none, or if it failed.
func (all *lists) list(ctx context.Context, from Configs, s scope) *list {
	if all == nil || (*all)[s] == nil {
		return nil
	}
	l := (*all)[s]
	l.once.Do(func() {
		l.at = time.Now()
		l.metas, l.err = from.List(ctx, s.kind, s.namespace)
		l.seen = time.Now()
	})
	if l.err != nil {
		return nil
	}
	return l
}
