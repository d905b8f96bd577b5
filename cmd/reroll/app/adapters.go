package app

import (
	"context"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// follower feeds a projection from the queue.
func follower(p *projection.Projection) queue.Followed {
	return queue.Followed{
		Change:       func(c reloader.StoredChange) { p.AddChange(c.Sequence, c.Change) },
		Reload:       p.AddReload,
		Workload:     p.PutWorkload,
		WorkloadGone: p.DeleteWorkload,
		CaughtUp:     p.SetCaughtUp,
	}
}

// nowhere is a sink for checking settings.
type nowhere struct{}

// Put takes nothing.
func (nowhere) Put(context.Context, []reloader.Hint) error { return nil }
