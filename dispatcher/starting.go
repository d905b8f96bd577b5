package dispatcher

import (
	"context"
	"sync"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
)

// lists has what a process lists once while it starts, by scope: a thousand reads are then two requests, and workloads with patterns share them. What is
// written after that has its hint to come, and a look because of a hint reads the config itself.
type lists struct{ sync.Map }

// list is the metadata of all configs of a kind in a namespace.
type list struct {
	metas map[reloader.Config]live.Meta
	// at is when the list was asked for, and seen when it had come.
	at, seen time.Time
}

// list returns the list of a scope; nil if the start is over, or if the list failed.
func (all *lists) list(ctx context.Context, from Configs, s scope) *list {
	if all == nil {
		return nil
	}
	known, _ := all.LoadOrStore(s, sync.OnceValue(func() *list {
		at := time.Now()
		metas, err := from.List(ctx, s.kind, s.namespace)
		if err != nil {
			return nil
		}
		return &list{metas, at, time.Now()}
	}))
	return known.(func() *list)()
}
