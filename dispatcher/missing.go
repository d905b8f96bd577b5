package dispatcher

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Some dialects promise that a workload is not rolled into pods that cannot start. Such a workload is held while something is missing that its
// pod template requires. Nothing of that is written to the cluster, so that opting out undoes it, and so does taking Reroll away.

// lacking returns why w must not be rolled now, although steps ask for it; nil if nothing is in the way.
func (d *Dispatcher) lacking(ctx context.Context, t *tracked, w *workload.Workload, steps []step) (*reloader.Hold, error) {
	waits := slices.ContainsFunc(withOutcome(steps, reloader.ReasonReloaded), func(s step) bool {
		f, _, _ := d.recall(s.config)
		return d.decide(w, s.config, f).Waits
	})
	if !waits {
		return nil, nil
	}
	d.mu.Lock()
	edges := slices.SortedFunc(maps.Keys(t.edges), compareConfigs)
	d.mu.Unlock()
	var missing []string
	for _, c := range edges {
		r := w.Template.References[c]
		if r == nil || !r.Required {
			continue
		}
		f, err := d.part(ctx, w, c)
		if err != nil {
			return nil, err
		}
		missing = append(missing, dialect.Missing(c, r, f.absent, f.digest.Keys)...)
	}
	if len(missing) == 0 {
		return nil, nil
	}
	return &reloader.Hold{Reason: reloader.ReasonMissingConfig, Message: "missing: " + dialect.MissingText(missing)}, nil
}

// holdUntilThere has t wait for what it lacks, and returns how long to wait before looking again: a config that appears is told of at once.
func (d *Dispatcher) holdUntilThere(t *tracked, hold *reloader.Hold) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.holdFor(t, hold, time.Now())
}
