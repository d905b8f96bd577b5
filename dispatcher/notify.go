package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// notify calls the webhook in the place of rolling w. It is called at least once for each reload: if the process ends before it is
// recorded, once more.
func (d *Dispatcher) notify(ctx context.Context, t *tracked, w *workload.Workload, rolling []step) error {
	if len(rolling) == 0 || d.DryRun {
		return nil
	}
	d.mu.Lock()
	r := d.newReload(t, w, rolling, d.reloadID(w, rolling), time.Now())
	d.mu.Unlock()
	return d.call(ctx, r)
}

// call calls the webhook for a reload.
func (d *Dispatcher) call(ctx context.Context, r reloader.Reload) error {
	err := d.Webhook.Notify(ctx, r)
	d.metrics.tried(err)
	if err != nil {
		return fmt.Errorf("call webhook for %s: %w", r.Workload, err)
	}
	return nil
}

// instead returns the outcome of steps that were not written on the workload, although they could have been.
func (d *Dispatcher) instead() reloader.Reason {
	switch {
	case d.DryRun:
		return reloader.ReasonDryRun
	case d.Webhook != nil:
		return reloader.ReasonNotified
	}
	return reloader.ReasonReloaded
}
